import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { formatNumber } from '../format.ts';
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
      {data && data.length > 0 && <NamespaceTable namespaces={data} onDelete={setDoomed} />}
      {doomed && <DeleteNamespace namespace={doomed} onClose={() => setDoomed(undefined)} onDeleted={reload} />}
    </>
  );
}

interface NamespaceTableProps {
  namespaces: readonly Namespace[];
  onDelete: (namespace: Namespace) => void;
}

function NamespaceTable({ namespaces, onDelete }: NamespaceTableProps) {
  return (
    <div class="table-frame" tabIndex={0} role="region" aria-label={texts.namespaces.title}>
      <table>
        <thead>
          <tr>
            <th scope="col">{texts.namespaces.name}</th>
            <th scope="col" class="number">
              {texts.namespaces.documents}
            </th>
            <th scope="col" class="number">
              {texts.namespaces.memories}
            </th>
            <th scope="col">{texts.namespaces.activity}</th>
            {mayManage.value && <th scope="col">{texts.namespaces.actions}</th>}
          </tr>
        </thead>
        <tbody>
          {namespaces.map((each) => (
            <tr key={each.containerTag}>
              <td class="wrap">
                <a href={hrefOf(['memories'], { ns: each.containerTag })}>
                  <bdi>{each.containerTag}</bdi>
                </a>
              </td>
              <td class="number">
                <a href={hrefOf(['documents'], { ns: each.containerTag })}>{formatNumber(each.documentCount)}</a>
              </td>
              <td class="number">{formatNumber(each.memoryCount)}</td>
              <td>{each.lastActivityAt ? <Ago at={each.lastActivityAt} /> : texts.namespaces.never}</td>
              {mayManage.value && (
                <td>
                  <Button
                    look="plain"
                    label={`${texts.namespaces.delete}: ${each.containerTag}`}
                    onClick={() => onDelete(each)}
                  >
                    {texts.namespaces.delete}
                  </Button>
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
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
