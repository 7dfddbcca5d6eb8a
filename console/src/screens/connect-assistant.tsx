import { useState } from 'preact/hooks';
import { baseAddress, call } from '../api.ts';
import { assistantCode, fetchedCommand } from '../client-code.ts';
import { say } from '../message.ts';
import { Button, CodeBlock, Head, Section } from '../parts/controls.tsx';
import { NewKey } from '../parts/new-key.tsx';
import { isFull, mayManage } from '../session.ts';
import { texts } from '../texts.ts';
import { useLoad } from '../use-load.ts';

/** Whether the page and the daemon are on one machine. */
const isHere = /^(localhost|127\.0\.0\.1|\[::1\])$/.test(location.hostname);

export function ConnectAssistant() {
  const [key, setKey] = useState('');
  const [isMaking, setMaking] = useState(false);
  const status = useLoad(
    async (signal) => (isHere && isFull.value ? call('GET /v3/status', { signal }) : null),
    [isFull.value],
  );
  const installed = status.data?.command;
  const access = { origin: baseAddress, key: key || texts.connect.keyPlace, command: installed ?? fetchedCommand };
  return (
    <>
      <Head title={texts.connect.title} note={texts.connect.help}>
        {mayManage.value && (
          <Button look="main" onClick={() => setMaking(true)}>
            {texts.connect.makeKey}
          </Button>
        )}
      </Head>
      {key && (
        <p class="notice" role="status">
          {texts.connect.keyMade}
        </p>
      )}
      {!mayManage.value && <p class="notice">{texts.connect.noKey}</p>}
      {Object.entries(texts.connect.steps).map(([id, [name, help]]) => (
        <Section key={id} title={name!} note={help}>
          <CodeBlock code={assistantCode[id]!(access)} label={texts.connect.copyBlock(name!)} />
          {id === 'claude-desktop' && (
            <p class="quiet small">{installed ? texts.connect.installed : texts.connect.fetched}</p>
          )}
        </Section>
      ))}
      {isMaking && (
        <NewKey
          initialName="assistant"
          onClose={() => setMaking(false)}
          onMade={(made) => {
            setKey(made);
            setMaking(false);
            say(texts.keys.once);
          }}
        />
      )}
    </>
  );
}
