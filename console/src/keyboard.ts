import { signal } from '@preact/signals';
import { goTo, route } from './route.ts';
import { session } from './session.ts';

export const isKeyboardHelpOpen = signal(false);

const places: Readonly<Record<string, string[]>> = {
  h: [],
  s: ['sources'],
  d: ['documents'],
  m: ['memories'],
  n: ['namespaces'],
  k: ['keys'],
  y: ['system'],
  c: ['connect'],
};

const sequenceMs = 1_200;

/** `/` to search, `g h` and the like to go somewhere, `a` to add, `?` for the list of these. */
export function followKeyboard(): void {
  let goUntil = 0;
  addEventListener('keydown', (event) => {
    if (!session.value || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const place = event.timeStamp < goUntil ? places[event.key] : undefined;
    goUntil = event.key === 'g' ? event.timeStamp + sequenceMs : 0;
    if (place) goTo(place);
    else if (event.key === '/') openSearch();
    else if (event.key === '?') isKeyboardHelpOpen.value = true;
    else if (event.key === 'a') goTo(route.value.path[0] === 'documents' ? ['documents', 'add'] : ['sources']);
    else return;
    event.preventDefault();
  });
}

function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement;
  return (
    element.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(element.tagName) || element.closest('dialog') !== null
  );
}

function openSearch(): void {
  if (route.value.path[0] === 'search') document.querySelector<HTMLInputElement>('input[type=search]')?.focus();
  else goTo(['search']);
}
