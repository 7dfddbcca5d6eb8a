import type { ComponentChild } from 'preact';
import { route } from './route.ts';
import { AddDocuments } from './screens/add-documents.tsx';
import { AddSource } from './screens/add-source.tsx';
import { ConnectAssistant } from './screens/connect-assistant.tsx';
import { DocumentScreen } from './screens/document.tsx';
import { Documents } from './screens/documents.tsx';
import { Home } from './screens/home.tsx';
import { Hooks } from './screens/hooks.tsx';
import { Keys } from './screens/keys.tsx';
import { Memories } from './screens/memories.tsx';
import { Namespaces } from './screens/namespaces.tsx';
import { Search } from './screens/search.tsx';
import { SourceScreen } from './screens/source.tsx';
import { Sources } from './screens/sources.tsx';
import { System } from './screens/system.tsx';

const screens: Readonly<Record<string, (rest: string[]) => ComponentChild>> = {
  sources: ([id, provider]) => {
    if (id === 'add' && provider) return <AddSource provider={provider} />;
    return id ? <SourceScreen id={id} /> : <Sources />;
  },
  search: () => <Search />,
  documents: ([id]) => {
    if (id === 'add') return <AddDocuments />;
    return id ? <DocumentScreen id={id} /> : <Documents />;
  },
  memories: () => <Memories />,
  namespaces: () => <Namespaces />,
  keys: () => <Keys />,
  hooks: () => <Hooks />,
  system: () => <System />,
  connect: () => <ConnectAssistant />,
};

/** What the address names; Home where it names nothing that there is. */
export function Screen() {
  const [name = '', ...rest] = route.value.path;
  return <>{Object.hasOwn(screens, name) ? screens[name]!(rest) : <Home />}</>;
}
