import { useRef, useState } from 'preact/hooks';
import { call, upload } from '../api.ts';
import { say } from '../message.ts';
import { Badge, Button, Head, Notice, Section } from '../parts/controls.tsx';
import { DropTarget } from '../parts/drop-target.tsx';
import { Field, TextField } from '../parts/field.tsx';
import { defaultNamespace, NamespaceChoice, useNamespaces } from '../parts/namespace-choice.tsx';
import { hrefOf } from '../address.ts';
import { safeLink } from '../safe-link.ts';
import { texts } from '../texts.ts';
import { useAction } from '../use-action.ts';

export function AddDocuments() {
  const [namespace, setNamespace] = useState(defaultNamespace);
  const namespaces = useNamespaces().data ?? [];
  return (
    <>
      <Head title={texts.add.title} />
      <div class="form">
        <NamespaceChoice label={texts.add.into} value={namespace} namespaces={namespaces} onChange={setNamespace} />
      </div>
      <Uploads namespace={namespace} />
      <Section title={texts.add.link}>
        <AddText
          namespace={namespace}
          label={texts.add.linkLabel}
          help={texts.add.linkHelp}
          submit={texts.add.linkSubmit}
          accepts={(text) => (safeLink(text) ? '' : texts.add.badLink)}
        />
      </Section>
      <Section title={texts.add.note}>
        <AddText
          namespace={namespace}
          label={texts.add.noteLabel}
          help={texts.add.noteHelp}
          submit={texts.add.noteSubmit}
          lines={5}
          isNote
          accepts={(text) => (text === '' ? texts.addSource.problems.missing : '')}
        />
      </Section>
    </>
  );
}

interface AddTextProps {
  namespace: string;
  label: string;
  help: string;
  submit: string;
  lines?: number;
  /** Whether its facts are to be remembered at once. */
  isNote?: boolean;
  /** What is wrong with it; empty where nothing is. */
  accepts: (text: string) => string;
}

function AddText({ namespace, label, help, submit, lines, isNote = false, accepts }: AddTextProps) {
  const [text, setText] = useState('');
  const [added, setAdded] = useState('');
  const add = useAction(async () => {
    const problem = accepts(text.trim());
    if (problem !== '') throw new Error(problem);
    const dreaming = isNote ? 'instant' : 'dynamic';
    const body = { content: text.trim(), containerTag: namespace, dreaming } as const;
    const { id } = await call('POST /v3/documents', { body });
    setAdded(id);
    setText('');
    say(texts.add.added);
  });
  return (
    <form
      class="form line-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        add.run();
      }}
    >
      <TextField
        label={label}
        value={text}
        onInput={setText}
        help={help}
        problem={add.error}
        {...(lines !== undefined && { lines })}
      />
      <div class="row">
        <Button submit isBusy={add.isBusy}>
          {submit}
        </Button>
        {added && <a href={hrefOf(['documents', added])}>{texts.source.openDocument}</a>}
      </div>
    </form>
  );
}

interface Upload {
  name: string;
  share: number;
  id?: string;
  error?: string;
}

const atOnce = 2;

function Uploads({ namespace }: { namespace: string }) {
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const started = useRef(0);
  const update = (index: number, change: Partial<Upload>) =>
    setUploads((before) => before.map((each, at) => (at === index ? { ...each, ...change } : each)));
  const send = async (files: readonly File[]) => {
    const first = started.current;
    started.current += files.length;
    setUploads((before) => [...before, ...files.map(({ name }) => ({ name, share: 0 }))]);
    const queue = files.map((file, index) => ({ file, index: first + index }));
    const work = async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        await sendOne(next.file, namespace, update.bind(null, next.index));
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  };
  return (
    <Section title={texts.add.uploading}>
      <DropTarget onFiles={(files) => void send(files)}>
        <strong>{texts.add.drop}</strong>
        <Field label={texts.add.choose} help={texts.add.dropHelp}>
          {(ids) => (
            <input
              {...ids}
              type="file"
              multiple
              onChange={(event) => {
                void send([...(event.currentTarget.files ?? [])]);
                event.currentTarget.value = '';
              }}
            />
          )}
        </Field>
      </DropTarget>
      <UploadSummary uploads={uploads} />
      <ul class="rows uploads">
        {uploads.map((each, index) => (
          <li key={index} class="line">
            <UploadLine {...each} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** How far all of them are, for those who drop many at once. */
function UploadSummary({ uploads }: { uploads: readonly Upload[] }) {
  const done = uploads.filter(({ id }) => id !== undefined).length;
  const failed = uploads.filter(({ error }) => error !== undefined).length;
  return (
    <div role="status">
      {uploads.length > 0 && (
        <>
          <p>{texts.add.progress(done, uploads.length, failed)}</p>
          {done + failed < uploads.length && (
            <progress aria-label={texts.add.uploading} value={done + failed} max={uploads.length} />
          )}
        </>
      )}
    </div>
  );
}

function UploadLine({ name, share, id, error }: Upload) {
  return (
    <>
      <span class="grow">
        <bdi class="title">{name}</bdi>
        {error && <Notice tone="bad">{error}</Notice>}
        {!error && !id && <progress aria-label={name} value={share} max={1} />}
      </span>
      {id && (
        <>
          <Badge tone="good">{texts.add.uploaded}</Badge>
          <a href={hrefOf(['documents', id])}>{texts.source.openDocument}</a>
        </>
      )}
    </>
  );
}

async function sendOne(file: File, namespace: string, tell: (change: Partial<Upload>) => void): Promise<void> {
  const form = new FormData();
  form.append('containerTag', namespace);
  // So that it has a name also where nothing in it can be read.
  form.append('filepath', file.name);
  form.append('file', file);
  try {
    const { id } = await upload(form, (share) => tell({ share }));
    tell({ id, share: 1 });
  } catch (error) {
    tell({ error: (error as Error).message });
  }
}
