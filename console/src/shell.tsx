import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { isReachable } from './api.ts';
import { isKeyboardHelpOpen } from './keyboard.ts';
import { leaveScreen, message } from './message.ts';
import { Confirm, Dialog } from './parts/dialog.tsx';
import { Badge, Button, Loading } from './parts/controls.tsx';
import { ProductMark } from './parts/source-mark.tsx';
import { hrefOf } from './address.ts';
import { route } from './route.ts';
import { Screen } from './screen.tsx';
import { awaited, mayManage, mayWrite, session, signOut, signOutEverywhere, visit } from './session.ts';
import { SignIn } from './screens/sign-in.tsx';
import { texts } from './texts.ts';
import { useAction } from './use-action.ts';

export function Shell() {
  return (
    <>
      {!isReachable.value && <div class="banner">{texts.offline}</div>}
      <Content />
      <div class="message" role="status">
        {message.value && <p>{message.value}</p>}
      </div>
      {isKeyboardHelpOpen.value && <KeyboardHelp />}
    </>
  );
}

function Content() {
  if (session.value === undefined && route.value.path[0] !== 'sign-in') {
    return (
      <main>
        <Loading />
      </main>
    );
  }
  const isIn = session.value && route.value.path[0] !== 'sign-in';
  if (!isIn && !awaited.value) return <SignIn />;
  return (
    <>
      {!isIn && <SignIn />}
      <div key={visit.value} hidden={!isIn}>
        <Frame>
          <Screen />
        </Frame>
      </div>
    </>
  );
}

function Frame({ children }: { children: ComponentChildren }) {
  const main = useRef<HTMLElement>(null);
  const place = route.value.path.join('/');
  useTitleFocus(main, place, awaited.value !== null);
  useEffect(() => leaveScreen, [place]);
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.querySelector('h1')?.focus();
        }}
      >
        {texts.skip}
      </a>
      <div class="shell">
        <Side />
        <main id="main" ref={main}>
          <div class="screen" key={place}>
            {children}
          </div>
        </main>
      </div>
    </>
  );
}

/** Whoever cannot see the screen change hears its new title. */
function useTitleFocus(main: { current: HTMLElement | null }, place: string, isUnseen: boolean): void {
  const isFirst = useRef(true);
  useEffect(() => {
    if (isUnseen) return;
    scrollTo(0, 0);
    const title = main.current?.querySelector('h1');
    document.title = title?.textContent ? `${title.textContent} · ${texts.product}` : texts.product;
    if (!isFirst.current && !main.current?.contains(document.activeElement)) title?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [main, place, isUnseen]);
}

/** Of these there is nothing to see for who does not manage the daemon. */
const ofManagers: readonly string[] = ['keys', 'hooks'];

const places = [
  ['', 'sources', 'search', 'documents', 'memories'],
  ['namespaces', 'keys', 'hooks', 'system', 'connect'],
] as const;

function placesShown<Name extends string>(group: readonly Name[]): readonly Name[] {
  return mayManage.value ? group : group.filter((name) => !ofManagers.includes(name));
}

function Side() {
  const [isOpen, setOpen] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const here = route.value.path[0] ?? '';
  useEffect(() => setOpen(false), [route.value]);
  return (
    <header class={`side ${isOpen ? 'open' : ''}`}>
      <a class="brand" href={hrefOf([])}>
        <ProductMark />
        {texts.product}
      </a>
      <button type="button" class="button menu-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {texts.menu}
      </button>
      <nav aria-label={texts.nav.label}>
        {places.map((group) => (
          <ul key={group[0]}>
            {placesShown(group).map((name) => (
              <li key={name}>
                <a href={hrefOf(name === '' ? [] : [name])} aria-current={here === name ? 'page' : undefined}>
                  {texts.nav[name === '' ? 'home' : name]}
                </a>
              </li>
            ))}
          </ul>
        ))}
      </nav>
      <div class="side-foot">
        {!mayWrite.value && <Badge tone="quiet">{texts.readOnly}</Badge>}
        <Button look="plain" onClick={() => (isKeyboardHelpOpen.value = true)}>
          {texts.keyboard.title}
        </Button>
        <Button look="plain" onClick={() => void signOut()}>
          {texts.signOut}
        </Button>
        <Button look="plain" onClick={() => setAsking(true)}>
          {texts.everywhere.title}
        </Button>
      </div>
      {isAsking && <EverywhereQuestion onClose={() => setAsking(false)} />}
    </header>
  );
}

function EverywhereQuestion({ onClose }: { onClose: () => void }) {
  const action = useAction(signOutEverywhere);
  return (
    <Confirm title={texts.everywhere.title} action={action} confirm={texts.everywhere.title} onClose={onClose}>
      <p>{texts.everywhere.help}</p>
    </Confirm>
  );
}

function KeyboardHelp() {
  const close = () => (isKeyboardHelpOpen.value = false);
  return (
    <Dialog title={texts.keyboard.open} onClose={close}>
      <dl class="facts">
        {texts.keyboard.rows.map(([keys, meaning]) => [
          <dt key={keys}>
            {keys!.split(' ').map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>,
          <dd key={`${keys} meaning`}>{meaning}</dd>,
        ])}
      </dl>
      <div class="dialog-foot">
        <Button onClick={close}>{texts.close}</Button>
      </div>
    </Dialog>
  );
}
