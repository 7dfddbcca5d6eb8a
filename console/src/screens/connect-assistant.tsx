import { useState } from 'preact/hooks';
import { baseAddress } from '../api.ts';
import { assistantCode } from '../client-code.ts';
import { say } from '../message.ts';
import { Button, CodeBlock, Head, Section } from '../parts/controls.tsx';
import { NewKey } from '../parts/new-key.tsx';
import { mayManage } from '../session.ts';
import { texts } from '../texts.ts';

export function ConnectAssistant() {
  const [key, setKey] = useState('');
  const [isMaking, setMaking] = useState(false);
  const access = { origin: baseAddress, key: key || texts.connect.keyPlace };
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
          {id === 'claude-desktop' && <p class="quiet small">{texts.connect.desktopNote}</p>}
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
