import type { Harness } from '../../src/connector-kit/harness.ts';
import type { Change, ContainerChange, ItemChange, Move, Poisoning } from './world-steps.ts';

/** Changes a world as steps say, and knows which of them are possible. */
export interface WorldHand {
  /** The id of an item; undefined when there is none of this name. */
  idOf(name: string): string | undefined;
  change(one: Change): Promise<void>;
  poison(one: Poisoning): Promise<void>;
  /** Everything that was poisoned, also what is gone since. */
  cure(): Promise<void>;
}

export function createWorldHand({ world, create, edit }: Harness): WorldHand {
  const items = new Set<string>();
  const poisoned = new Set<string>();
  /** The container of each item that lies in one. */
  const places = new Map<string, string>();
  const containers: (string | undefined)[] = [];
  let made = 0;

  async function put(name: string): Promise<void> {
    if (items.has(name)) return edit(name);
    items.add(name);
    await create(name);
  }

  async function remove(name: string): Promise<void> {
    await world.remove(name);
    forget(name);
  }

  function forget(name: string): void {
    items.delete(name);
    places.delete(name);
  }

  async function move({ name, place }: Move): Promise<void> {
    if (!world.containers) return;
    containers[place] ??= await addContainer();
    await world.containers.move(name, containers[place]);
    places.set(name, containers[place]);
  }

  async function addContainer(): Promise<string> {
    const container = `container-${++made}`;
    await world.containers?.create(container);
    return container;
  }

  async function choose({ name, place }: Move): Promise<void> {
    if (!world.resources) return;
    const all = await world.resources.all();
    await world.resources.move(name, all[place]!.id);
    places.delete(name);
  }

  async function changeContainer({ kind, place }: ContainerChange): Promise<void> {
    const container = containers[place];
    if (container === undefined) return;
    if (kind === 'rename-container') return world.containers?.rename(container, `container called ${++made}`);
    await world.containers?.remove(container);
    containers[place] = undefined;
    for (const [name, at] of places) if (at === container) forget(name);
  }

  /** An item of a container stays in the scope: where it would come back to is not the same at every source. */
  const isPlaced = (name: string) => places.has(name);

  async function changeItem({ kind, name }: ItemChange): Promise<void> {
    if (kind === 'put') return put(name);
    if (!items.has(name)) return;
    if (kind === 'remove') await remove(name);
    if (kind === 'rename') await world.rename?.(name, `${name} called ${++made}`);
    if (kind === 'trash') await world.trash?.put(name);
    if (kind === 'restore') await world.trash?.restore(name);
    if (kind === 'revoke') await world.access?.revoke(name);
    if (kind === 'grant') await world.access?.grant(name);
    if (kind === 'leave' && !isPlaced(name)) await world.scope?.leave(name);
    if (kind === 'enter' && !isPlaced(name)) await world.scope?.enter(name);
  }

  return {
    idOf: (name) => (items.has(name) ? world.idOf(name) : undefined),
    async change(one) {
      if (!('name' in one)) await changeContainer(one);
      else if (!('place' in one)) await changeItem(one);
      else if (items.has(one.name)) await (one.kind === 'move' ? move : choose)(one);
    },
    async poison({ kind, name }) {
      if (!items.has(name)) return;
      await world.poison?.[kind === 'poison' ? 'put' : 'cure'](name);
      if (kind === 'poison') poisoned.add(name);
    },
    async cure() {
      for (const name of poisoned) await world.poison?.cure(name);
    },
  };
}
