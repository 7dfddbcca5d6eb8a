import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ingestOrder } from '../../../src/api/batch.ts';
import type { DocumentInput } from '../../../src/engine/document.ts';

function input(date: string | null, customId?: string): DocumentInput {
  return {
    containerTag: 'tag',
    body: { kind: 'text', text: 'x' },
    source: 'api',
    ...(date !== null && { documentDate: new Date(date) }),
    ...(customId !== undefined && { customId }),
  };
}

describe('the order in which a batch is ingested', () => {
  it('is oldest first, undated last, else as sent', () => {
    const inputs = [input(null), input('2026-03-02'), input('2026-03-01'), input(null), input('2026-03-01')];
    expect(ingestOrder(inputs)).toEqual([2, 4, 1, 0, 3]);
  });

  it('lets the later one of a customId win even when it is older', () => {
    const inputs = [input('2026-03-05', 'a'), input('2026-03-01', 'a'), input('2026-03-02')];
    expect(ingestOrder(inputs)).toEqual([2, 0, 1]);
  });

  it('holds every item once, and never swaps two of one customId', () => {
    const item = fc.record({
      day: fc.option(fc.integer({ min: 1, max: 9 })),
      id: fc.option(fc.constantFrom('a', 'b')),
    });
    fc.assert(
      fc.property(fc.array(item, { maxLength: 30 }), (items) => {
        const inputs = items.map(({ day, id }) => input(day === null ? null : `2026-03-0${day}`, id ?? undefined));
        const order = ingestOrder(inputs);
        expect(order.toSorted((left, right) => left - right)).toEqual(inputs.map((_, index) => index));
        for (const customId of ['a', 'b']) {
          const places = order.filter((place) => inputs[place]!.customId === customId);
          expect(places).toEqual(places.toSorted((left, right) => left - right));
        }
      }),
    );
  });
});
