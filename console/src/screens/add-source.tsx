import { useEffect, useMemo, useState } from 'preact/hooks';
import { call } from '../api.ts';
import { copyText, say } from '../message.ts';
import { Button, Coded, Head, LoadProblem, Loading, Notice } from '../parts/controls.tsx';
import { CheckField, ChoiceField, TextField } from '../parts/field.tsx';
import { defaultNamespace } from '../parts/namespace-choice.tsx';
import { ScheduleField } from '../parts/schedule-field.tsx';
import { SchemaFields } from '../parts/schema-fields.tsx';
import { goTo } from '../route.ts';
import { intervalOf, sentSchedule, standard } from '../schedules.ts';
import { mayManage } from '../session.ts';
import { safeLink } from '../safe-link.ts';
import { answersOf, fieldsOf, initialValues, problemOf, type FormValues } from '../schema-form.ts';
import { texts } from '../texts.ts';
import type { Answer, AuthKind, ConnectorSpec, NewConnection } from '../types.ts';
import { useAction } from '../use-action.ts';
import { useLoad } from '../use-load.ts';

export function AddSource({ provider }: { provider: string }) {
  const { data, error, reload } = useLoad(
    (signal) => call('GET /v3/connectors/{name}/spec', { path: { name: provider }, signal }),
    [provider],
  );
  const title = texts.addSource.title(data?.title ?? provider);
  if (!mayManage.value) {
    return (
      <>
        <Head title={title} />
        <Notice tone="warn">{texts.addSource.mayNot}</Notice>
      </>
    );
  }
  return (
    <>
      <Head title={title} note={data?.description} />
      <LoadProblem error={error} reload={reload} />
      {!data && !error && <Loading />}
      {data && <SourceForm spec={data} />}
    </>
  );
}

type Created = Pick<Answer<'POST /v3/connections/{connection}'>, 'id' | 'authLink'>;
/** Empty: as the namespace says. */
type MemoriesChoice = NonNullable<NewConnection['memories']> | '';

const isOAuth = (auth: AuthKind | undefined) => auth?.type === 'oauth2' || auth?.type === 'xoauth2';

function SourceForm({ spec }: { spec: ConnectorSpec }) {
  const [authIndex, setAuthIndex] = useState(firstUsable(spec));
  const [isTried, setTried] = useState(false);
  const [namespace, setNamespace] = useState(defaultNamespace);
  const [memories, setMemories] = useState<MemoriesChoice>('');
  const [schedule, setSchedule] = useState(standard);
  const [consent, setConsent] = useState<Created & { paused: boolean }>();
  const auth = spec.auth[authIndex];
  const config = useMemo(() => fieldsOf(spec.config), [spec]);
  const fields = useMemo(() => [...config, ...fieldsOf(auth?.fields)], [config, auth]);
  const [values, setValues] = useState<FormValues>(() => initialValues(fields));
  const change = (name: string, value: FormValues[string]) => setValues((before) => ({ ...before, [name]: value }));
  const parts = { values, onChange: change, showProblems: isTried };
  const submit = useAction(async (paused: boolean) => {
    setTried(true);
    if (fields.some((field) => problemOf(field, values[field.name] ?? field.initial))) {
      throw new Error(texts.addSource.check);
    }
    // Before the answer is there, or the browser takes it for an advertisement.
    const consentWindow = isOAuth(auth) ? open('', 'memoryd-consent', 'popup,width=620,height=760') : null;
    try {
      const created = await createConnection(
        spec.name,
        { ...answersOf(fields, values) },
        { namespace, memories, schedule, paused },
      );
      if (created.authLink === null) return finish(spec.title, created.id, paused);
      setConsent({ ...created, paused });
      const link = safeLink(created.authLink);
      if (!consentWindow || !link) return;
      // The source must not be able to lead this page elsewhere.
      consentWindow.opener = null;
      consentWindow.location.href = link;
    } catch (error) {
      consentWindow?.close();
      throw error;
    }
  });
  if (consent) return <Consent created={consent} title={spec.title} onFailure={() => setConsent(undefined)} />;
  const required = fields.filter((field) => field.isRequired);
  return (
    <form
      class="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit.run(false);
      }}
    >
      {spec.auth.length > 1 && <AuthChoice kinds={spec.auth} index={authIndex} onChange={setAuthIndex} />}
      <SchemaFields fields={required} {...parts} />
      {isOAuth(auth) && <OAuthHelp missing={spec.missingClient} address={spec.callbackAddress ?? ''} />}
      <SchemaFields fields={openFields(config)} {...parts} />
      <TextField
        label={texts.namespace}
        value={namespace}
        onInput={setNamespace}
        help={texts.addSource.namespaceHelp}
      />
      <details>
        <summary>{texts.addSource.settings}</summary>
        <div class="form">
          <SchemaFields
            fields={fields.filter((field) => !required.includes(field) && !openFields(config).includes(field))}
            {...parts}
          />
          {spec.name !== 'push' && (
            <ScheduleField value={schedule} onChange={setSchedule} isNew own={ownSchedule(spec, values)} />
          )}
          <ChoiceField
            label={texts.addSource.memories}
            value={memories}
            options={Object.entries(texts.addSource.memoriesOptions) as [MemoriesChoice, string][]}
            onChange={setMemories}
            help={texts.addSource.memoriesHelp}
          />
        </div>
      </details>
      {submit.error && (
        <Notice tone="bad">
          <Coded text={submit.error} />
        </Notice>
      )}
      {/* Without a client nothing can begin at the source. */}
      {!(isOAuth(auth) && spec.missingClient) && (
        <div class="row">
          <Button submit look="main" isBusy={submit.isBusy}>
            {submitText(submit.isBusy, auth)}
          </Button>
          {spec.name !== 'push' && (
            <Button isBusy={submit.isBusy} onClick={() => submit.run(true)}>
              {texts.addSource.submitPaused}
            </Button>
          )}
        </div>
      )}
    </form>
  );
}

function submitText(isBusy: boolean, auth: AuthKind | undefined): string {
  if (isBusy) return texts.addSource.working;
  return isOAuth(auth) ? texts.addSource.submitOAuth : texts.addSource.submit;
}

/** Where no field must be filled in, the first of them says what is mirrored, and stands open. */
function openFields(config: ReturnType<typeof fieldsOf>): ReturnType<typeof fieldsOf> {
  return config.some((field) => field.isRequired) ? [] : config.filter((field) => field.kind === 'lines').slice(0, 1);
}

/** How often the source is looked at where nobody says otherwise: what its settings say goes before its connector. */
function ownSchedule({ schedule }: ConnectorSpec, { pollEveryMs }: FormValues): string | undefined {
  return intervalOf(Number(pollEveryMs) || schedule?.everyMs);
}

/** The first way that works as the daemon is set up; OAuth needs a client of its own. */
function firstUsable({ auth, missingClient }: ConnectorSpec): number {
  const found = auth.findIndex((kind) => missingClient === null || !isOAuth(kind));
  return Math.max(found, 0);
}

async function createConnection(
  provider: string,
  metadata: Record<string, unknown>,
  {
    namespace,
    memories,
    schedule,
    paused,
  }: { namespace: string; memories: MemoriesChoice; schedule: string; paused: boolean },
): Promise<Created> {
  return call('POST /v3/connections/{connection}', {
    path: { connection: provider },
    body: {
      metadata,
      ...(namespace.trim() !== '' && { containerTag: namespace.trim() }),
      ...(memories !== '' && { memories }),
      ...(provider !== 'push' && sentSchedule(schedule)),
      ...(paused && { paused }),
    },
  });
}

function finish(title: string, id: string, isPaused: boolean): void {
  const { connectedPaused, connected } = texts.addSource;
  say(isPaused ? connectedPaused(title) : connected(title), { forNextScreen: true });
  goTo(['sources', id]);
}

interface AuthChoiceProps {
  kinds: readonly AuthKind[];
  index: number;
  onChange: (index: number) => void;
}

function AuthChoice({ kinds, index, onChange }: AuthChoiceProps) {
  return (
    <fieldset class="stack">
      <legend>{texts.addSource.authTitle}</legend>
      {kinds.map(({ type, title }, each) => (
        <CheckField
          key={type}
          group="auth"
          label={title ?? texts.addSource.authKinds[type]}
          isOn={each === index}
          onChange={() => onChange(each)}
        />
      ))}
    </fieldset>
  );
}

function OAuthHelp({ missing, address }: { missing: string | null; address: string }) {
  return (
    <div class="notice stack">
      <p>{missing === null ? texts.addSource.oauth : texts.addSource.notConfigured(missing)}</p>
      <div>
        <strong>{texts.addSource.redirect}</strong>
        <p class="small quiet">{texts.addSource.redirectHelp}</p>
        <pre class="code">{address}</pre>
        <Button look="plain" onClick={() => void copyText(address)}>
          {texts.copy}
        </Button>
      </div>
    </div>
  );
}

const askEveryMs = 1_500;

interface ConsentProps {
  created: Created & { paused: boolean };
  title: string;
  onFailure: () => void;
}

/** Waits until the source has sent the consent to the daemon, whose answer ends the other window. */
function Consent({ created, title, onFailure }: ConsentProps) {
  const [problem, setProblem] = useState('');
  const { data } = useLoad(
    (signal) =>
      call('GET /v3/connections/{connectionId}/authorization', { path: { connectionId: created.id }, signal }),
    [created.id],
    problem === '' ? askEveryMs : undefined,
  );
  useEffect(() => {
    if (data?.status === 'connected') finish(title, created.id, created.paused);
    const outcomes: Readonly<Record<string, string>> = texts.addSource.outcomes;
    setProblem(outcomes[data?.status ?? ''] ?? '');
  }, [data?.status]);
  const link = safeLink(created.authLink);
  return (
    <div class="form">
      {problem ? <Notice tone="bad">{problem}</Notice> : <p role="status">{texts.addSource.waiting}</p>}
      <div class="row">
        {link && !problem && (
          <a class="button" href={link} target="_blank" rel="noreferrer">
            {texts.addSource.openAgain}
          </a>
        )}
        <Button onClick={onFailure}>{problem ? texts.addSource.again : texts.cancel}</Button>
      </div>
    </div>
  );
}
