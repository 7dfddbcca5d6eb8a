import type { ComponentChildren } from 'preact';
import { formatAgo, formatFully } from '../format.ts';
import { copyText } from '../message.ts';
import { texts } from '../texts.ts';
import type { Tone } from '../tone.ts';

interface ButtonProps {
  children: ComponentChildren;
  onClick?: () => void;
  look?: 'main' | 'bad' | 'plain';
  isBusy?: boolean;
  submit?: boolean;
  label?: string;
}

export function Button({ children, onClick, look, isBusy = false, submit = false, label }: ButtonProps) {
  return (
    <button
      type={submit ? 'submit' : 'button'}
      class={`button ${look ?? ''}`}
      aria-disabled={isBusy}
      aria-label={label}
      onClick={onClick}
    >
      {children}
    </button>
  );
}

/** Reads the next page of a list; nothing where there is none. */
export function More({ read }: { read: (() => void) | undefined }) {
  if (!read) return null;
  return (
    <Button look="plain" onClick={read}>
      {texts.more}
    </Button>
  );
}

export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** Something that went wrong or wants attention; read out at once when it appears. */
export function Notice({ tone, children }: { tone?: 'bad' | 'warn'; children: ComponentChildren }) {
  return (
    <div class={`notice ${tone ?? ''}`} role={tone === 'bad' ? 'alert' : 'note'}>
      {children}
    </div>
  );
}

/** What a failed read leaves: the reason, and a way on. */
export function LoadProblem({ error, reload }: { error: string | undefined; reload: () => void }) {
  if (!error) return null;
  return (
    <Notice tone="bad">
      <div class="row between">
        <bdi>
          <Coded text={error} />
        </bdi>
        <Button onClick={reload}>{texts.errors.retry}</Button>
      </div>
    </Notice>
  );
}

export function Loading() {
  return (
    <p class="quiet" role="status">
      {texts.loading}
    </p>
  );
}

/** A text of the daemon or of a connector, in which names of settings stand between backticks. */
export function Coded({ text }: { text: string }) {
  return <>{text.split('`').map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>))}</>;
}

interface EmptyProps {
  title: string;
  text?: string;
  children?: ComponentChildren;
}

export function Empty({ title, text, children }: EmptyProps) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {text && <p>{text}</p>}
      {children && <div class="row">{children}</div>}
    </div>
  );
}

/** How long ago; the full time on hover and for machines. */
export function Ago({ at }: { at: string }) {
  return (
    <time dateTime={at} title={formatFully(at)}>
      {formatAgo(at, new Date())}
    </time>
  );
}

/** A block to copy, with the button that does. */
export function CodeBlock({ code, label }: { code: string; label: string }) {
  return (
    <>
      <pre class="code" tabIndex={0} role="region" aria-label={label}>
        {code}
      </pre>
      <Button look="plain" label={label} onClick={() => void copyText(code)}>
        {texts.copy}
      </Button>
    </>
  );
}

/** The head of a screen. Focus goes to its title when the screen changes. */
export function Head({
  title,
  note,
  children,
}: {
  title: string;
  note?: ComponentChildren;
  children?: ComponentChildren;
}) {
  return (
    <div class="head">
      <div class="head-text">
        <h1 tabIndex={-1}>
          <bdi>{title}</bdi>
        </h1>
        {note && <div class="quiet">{note}</div>}
      </div>
      {children && <div class="row">{children}</div>}
    </div>
  );
}

interface SectionProps {
  title: string;
  note?: ComponentChildren;
  children: ComponentChildren;
}

export function Section({ title, note, children }: SectionProps) {
  return (
    <section aria-label={title}>
      <div class="section-head">
        <h2>{title}</h2>
        {note && <div class="quiet small">{note}</div>}
      </div>
      {children}
    </section>
  );
}
