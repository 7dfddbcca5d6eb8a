import { call } from '../api.ts';
import { say } from '../message.ts';
import { Badge, Button, CodeBlock, Head, LoadProblem, Loading, Notice, Section } from '../parts/controls.tsx';
import { mayManage } from '../session.ts';
import { texts } from '../texts.ts';
import type { Connector, Hook } from '../types.ts';
import { useAction } from '../use-action.ts';
import { useLoad } from '../use-load.ts';

interface HookOfConnector {
  connector: Connector;
  hook: Hook;
}

/** Of those whose source makes the secret by itself; the others have no hook that somebody must look at. */
async function readHooks(signal: AbortSignal): Promise<HookOfConnector[]> {
  const connectors = await call('GET /v3/connectors', { signal });
  return Promise.all(
    connectors
      .filter(({ capabilities }) => capabilities.offersHookSecret)
      .map(async (connector) => ({
        connector,
        hook: await call('GET /v3/connectors/{name}/hook', { path: { name: connector.provider }, signal }),
      })),
  );
}

export function Hooks() {
  const { data, error, reload } = useLoad(async (signal) => (mayManage.value ? readHooks(signal) : []), []);
  return (
    <>
      <Head title={texts.hooks.title} note={texts.hooks.help} />
      {!mayManage.value && <Notice>{texts.keys.needFull}</Notice>}
      <LoadProblem error={error} reload={reload} />
      {!data && !error && <Loading />}
      {data?.length === 0 && mayManage.value && <p class="quiet">{texts.hooks.empty}</p>}
      {data?.map((each) => (
        <HookView key={each.connector.provider} {...each} onChange={reload} />
      ))}
    </>
  );
}

function HookView({ connector, hook, onChange }: HookOfConnector & { onChange: () => void }) {
  const path = { name: connector.provider };
  const accept = useAction(async (secret: string) => {
    await call('POST /v3/connectors/{name}/hook', { path, body: { secret } });
    say(texts.hooks.accepted);
    onChange();
  });
  const forget = useAction(async () => {
    await call('DELETE /v3/connectors/{name}/hook', { path });
    say(texts.hooks.forgotten);
    onChange();
  });
  const problem = accept.error || forget.error;
  const tone = { none: 'quiet', offered: 'warn', set: 'good' } as const;
  return (
    <Section
      title={connector.displayName}
      note={<Badge tone={tone[hook.state]}>{texts.hooks.states[hook.state]}</Badge>}
    >
      <div class="line-form stack">
        {hook.address === null ? (
          <p class="quiet">{texts.hooks.noAddress}</p>
        ) : (
          <CodeBlock code={hook.address} label={texts.hooks.address} />
        )}
        {hook.offered && (
          <div>
            <p>{texts.hooks.offered}</p>
            <pre class="code">{hook.offered.secret}</pre>
            <Button look="main" onClick={() => accept.run(hook.offered!.secret)}>
              {texts.hooks.accept}
            </Button>
          </div>
        )}
        {hook.state === 'set' && (
          <div>
            <Button onClick={() => forget.run()}>{texts.hooks.forget}</Button>
          </div>
        )}
        {problem && <Notice tone="bad">{problem}</Notice>}
      </div>
    </Section>
  );
}
