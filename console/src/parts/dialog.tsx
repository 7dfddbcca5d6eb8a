import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { awaited } from '../session.ts';
import { texts } from '../texts.ts';
import type { Action } from '../use-action.ts';
import { Button, Notice } from './controls.tsx';

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

/** The browser's own dialog: it keeps the focus, and Escape closes it. One that is open hides the sign-in, too. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  const isUnseen = awaited.value !== null;
  useEffect(() => {
    if (isUnseen) return undefined;
    const dialog = element.current!;
    dialog.showModal();
    return () => dialog.close();
  }, [isUnseen]);
  return (
    <dialog ref={element} aria-labelledby={id} onClose={() => awaited.value === null && onClose()}>
      <h2 id={id}>
        <bdi>{title}</bdi>
      </h2>
      {children}
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  action: Action<[]>;
  confirm: string;
  isDangerous?: boolean;
  onClose: () => void;
  children?: ComponentChildren;
}

/** Asks before something is done that cannot be taken back. */
export function Confirm({ title, action, confirm, isDangerous, onClose, children }: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          action.run();
        }}
      >
        {children}
        {action.error && <Notice tone="bad">{action.error}</Notice>}
        <div class="dialog-foot">
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button submit look={isDangerous ? 'bad' : 'main'} isBusy={action.isBusy}>
            {confirm}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
