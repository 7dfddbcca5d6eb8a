import { describe, expect, it } from 'vitest';
import { allowed, type Unit } from './import-table.ts';
import { listFiles, readFile } from '../support/imports-of.ts';

type Arrow = [from: string, to: string];

/** The arrows of a document's Mermaid flowchart: `a --> b & c`. */
function arrowsOf(document: string): Arrow[] {
  const chart = /```mermaid\nflowchart TD\n([\s\S]*?)```/.exec(document)?.[1] ?? '';
  return chart
    .split('\n')
    .filter((line) => line.trim() !== '')
    .flatMap((line) => {
      const [from, targets] = line.split('-->');
      return targets!.split('&').map((to): Arrow => [from!.trim(), to.trim()]);
    });
}

function reaches(arrows: readonly Arrow[], from: string, to: string): boolean {
  return arrows.some(([start, end]) => start === from && (end === to || reaches(arrows, end, to)));
}

/** The folder of `src` that holds a unit. */
const roomOfSeam: Partial<Record<Unit, string>> = {
  contract: 'connector',
  'store engines': 'store',
  'queue interface': 'queue',
  'model interfaces': 'models',
  'token counting': 'models',
};
const roomOf = (unit: Unit) => roomOfSeam[unit] ?? unit;

describe('docs/architecture.md', () => {
  const page = readFile('docs/architecture.md');
  const files = listFiles('src/*/**/*.ts');
  const rooms = new Set(files.map((file) => file.split('/')[1]!));

  it('describes each room', () => {
    const described = [...page.matchAll(/^\| `src\/([\w-]+)` /gm)].map(([, room]) => room);
    expect(new Set(described)).toEqual(rooms);
    expect(described.length).toBe(rooms.size);
  });

  it('draws the arrows that the table of imports has', () => {
    const arrows = arrowsOf(page);
    // The kit may use nearly everything, and is left out of the picture.
    const drawn = new Set([...rooms].filter((room) => room !== 'connector-kit'));
    expect(new Set(arrows.flat())).toEqual(drawn);
    const permitted = (Object.keys(allowed) as Unit[]).flatMap((unit) =>
      (Object.keys(allowed[unit]) as Unit[]).map((other): Arrow => [roomOf(unit), roomOf(other)]),
    );
    const ofRooms = permitted.filter(([from, to]) => from !== to && drawn.has(from) && drawn.has(to));
    expect(ofRooms.filter(([from, to]) => !reaches(arrows, from, to))).toEqual([]);
    const known = new Set(ofRooms.map((arrow) => arrow.join(' → ')));
    expect(arrows.map((arrow) => arrow.join(' → ')).filter((arrow) => !known.has(arrow))).toEqual([]);
  });
});
