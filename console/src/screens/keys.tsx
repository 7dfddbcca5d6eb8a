import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { formatDay } from '../format.ts';
import { say } from '../message.ts';
import { Ago, Badge, Button, CodeBlock, Head, LoadProblem, Loading, Notice } from '../parts/controls.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { NewKey } from '../parts/new-key.tsx';
import { mayManage } from '../session.ts';
import { texts } from '../texts.ts';
import type { Key } from '../types.ts';
import { useAction } from '../use-action.ts';
import { useLoad } from '../use-load.ts';

export function Keys() {
  if (!mayManage.value) {
    return (
      <>
        <Head title={texts.keys.title} note={texts.keys.help} />
        <Notice>{texts.keys.needFull}</Notice>
      </>
    );
  }
  return <ManagedKeys />;
}

function ManagedKeys() {
  const [isCreating, setCreating] = useState(false);
  const [doomed, setDoomed] = useState<Key>();
  const [made, setMade] = useState('');
  const { data, error, reload } = useLoad((signal) => call('GET /v3/auth/keys', { signal }), []);
  const toggle = useAction(async (key: Key) => {
    const { enabled } = await call('PUT /v3/auth/keys/{id}/toggle', { path: { id: key.id } });
    say(texts.keys.turned(key.name, enabled));
    reload();
  });
  const remove = useAction(async () => {
    await call('DELETE /v3/auth/scoped-key/{id}', { path: { id: doomed!.id } });
    say(texts.keys.deleted);
    setDoomed(undefined);
    reload();
  });
  return (
    <>
      <Head title={texts.keys.title} note={texts.keys.help}>
        <Button look="main" onClick={() => setCreating(true)}>
          {texts.keys.create}
        </Button>
      </Head>
      <LoadProblem error={error ?? (toggle.error || undefined)} reload={reload} />
      {made && (
        <div class="notice" role="status">
          <p>{texts.keys.once}</p>
          <CodeBlock code={made} label={texts.keys.newKey} />
        </div>
      )}
      {!data && !error && <Loading />}
      <ul class="rows">
        {data?.keys.map((key) => (
          <KeyLine key={key.id} apiKey={key} onToggle={() => toggle.run(key)} onDelete={() => setDoomed(key)} />
        ))}
      </ul>
      {isCreating && (
        <NewKey
          onClose={() => setCreating(false)}
          onMade={(key) => {
            setMade(key);
            setCreating(false);
            reload();
          }}
        />
      )}
      {doomed && (
        <Confirm
          title={texts.keys.deleteTitle(doomed.name)}
          action={remove}
          confirm={texts.keys.delete}
          isDangerous
          onClose={() => setDoomed(undefined)}
        >
          <p>{texts.keys.deleteHelp}</p>
        </Confirm>
      )}
    </>
  );
}

interface KeyLineProps {
  apiKey: Key;
  onToggle: () => void;
  onDelete: () => void;
}

function KeyLine({ apiKey, onToggle, onDelete }: KeyLineProps) {
  const { name, kind, permission, containerTags, enabled, lastUsedAt, expiresAt } = apiKey;
  const scope = kind === 'full' ? texts.keys.full : containerTags.join(', ');
  const verb = enabled ? texts.keys.turnOff : texts.keys.turnOn;
  return (
    <li class="line wide roomy">
      <div class="grow">
        <bdi class="title">{name}</bdi>
        <div class="quiet small wrap">
          {texts.keys.permissions[permission]} · <bdi>{scope}</bdi>
        </div>
        <div class="quiet small">
          {texts.keys.lastUsed}: {lastUsedAt ? <Ago at={lastUsedAt} /> : texts.keys.never} · {texts.keys.expires}:{' '}
          {expiresAt ? formatDay(expiresAt) : texts.keys.never}
        </div>
      </div>
      {!enabled && <Badge tone="warn">{texts.keys.off}</Badge>}
      <div class="row">
        <Button look="plain" label={`${verb}: ${name}`} onClick={onToggle}>
          {verb}
        </Button>
        <Button look="plain" label={`${texts.keys.delete}: ${name}`} onClick={onDelete}>
          {texts.keys.delete}
        </Button>
      </div>
    </li>
  );
}
