import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { say } from '../message.ts';
import { Ago, Button, Head, LoadProblem, Loading } from '../parts/controls.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { TextField } from '../parts/field.tsx';
import { useNamespaces } from '../parts/namespace-choice.tsx';
import { hrefOf } from '../address.ts';
import { mayManage } from '../session.ts';
import { texts } from '../texts.ts';
import type { Namespace } from '../types.ts';
import { useAction } from '../use-action.ts';

export function Namespaces() {
  const { data, error, reload } = useNamespaces();
  const [doomed, setDoomed] = useState<Namespace>();
  return (
    <>
      <Head title={texts.namespaces.title} note={texts.namespaces.help} />
      <LoadProblem error={error} reload={reload} />
      {!data && !error && <Loading />}
      {data?.length === 0 && <p class="quiet">{texts.namespaces.empty}</p>}
      <ul class="rows" aria-label={texts.namespaces.title}>
        {data?.map((each) => (
          <NamespaceLine key={each.containerTag} namespace={each} onDelete={() => setDoomed(each)} />
        ))}
      </ul>
      {doomed && <DeleteNamespace namespace={doomed} onClose={() => setDoomed(undefined)} onDeleted={reload} />}
    </>
  );
}

function NamespaceLine({ namespace, onDelete }: { namespace: Namespace; onDelete: () => void }) {
  const { containerTag, documentCount, memoryCount, lastActivityAt } = namespace;
  return (
    <li class="line wide roomy">
      <div class="grow">
        <bdi class="title">{containerTag}</bdi>
        <div class="quiet small">
          <a href={hrefOf(['documents'], { ns: containerTag })}>{texts.documentsCount(documentCount)}</a> ·{' '}
          <a href={hrefOf(['memories'], { ns: containerTag })}>{texts.namespaces.memories(memoryCount)}</a> ·{' '}
          {texts.namespaces.activity} {lastActivityAt ? <Ago at={lastActivityAt} /> : texts.namespaces.never}
        </div>
      </div>
      {mayManage.value && (
        <Button look="plain" label={`${texts.namespaces.delete}: ${containerTag}`} onClick={onDelete}>
          {texts.namespaces.delete}
        </Button>
      )}
    </li>
  );
}

interface DeleteNamespaceProps {
  namespace: Namespace;
  onClose: () => void;
  onDeleted: () => void;
}

function DeleteNamespace({ namespace, onClose, onDeleted }: DeleteNamespaceProps) {
  const { containerTag, documentCount, memoryCount } = namespace;
  const [typed, setTyped] = useState('');
  const action = useAction(async () => {
    if (typed !== containerTag) throw new Error(texts.namespaces.typeName);
    await call('DELETE /v3/container-tags/{containerTag}', { path: { containerTag } });
    say(texts.namespaces.deleted(containerTag));
    onClose();
    onDeleted();
  });
  return (
    <Confirm
      title={texts.namespaces.deleteTitle(containerTag)}
      action={action}
      confirm={texts.namespaces.delete}
      isDangerous
      onClose={onClose}
    >
      <p>{texts.namespaces.deleteHelp(documentCount, memoryCount)}</p>
      <TextField label={texts.namespaces.typeName} value={typed} onInput={setTyped} />
    </Confirm>
  );
}
