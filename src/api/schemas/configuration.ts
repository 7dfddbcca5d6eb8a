import Type from 'typebox';
import { nullable, timestamp, words } from './shared.ts';

export const checksAnswer = Type.Object({
  ok: Type.Boolean({ description: 'All of them are.' }),
  checks: Type.Array(
    Type.Object({
      name: Type.String(),
      ok: Type.Boolean(),
      detail: Type.String(),
      remedy: nullable(Type.String(), { description: 'How to mend it.' }),
    }),
  ),
});

export const warningsAnswer = Type.Object({
  warnings: Type.Array(
    Type.Object({
      level: words(['warn', 'error']),
      message: Type.String(),
      count: Type.Integer({ description: 'How often it was said.' }),
      firstAt: timestamp,
      lastAt: timestamp,
      fields: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]), {
        description: 'Ids, names of parts and numbers.',
      }),
    }),
    { description: 'Newest first; at most 100 that differ.' },
  ),
});

export const configurationAnswer = Type.Object({
  settings: Type.Array(
    Type.Object({
      field: Type.String({ description: 'As in the configuration file, e.g. embedder.kind.' }),
      value: Type.Unknown({ description: 'Any JSON value; null: none. Secrets are masked.' }),
      source: Type.String({ description: 'default, or which option, variable or line of the file gives it.' }),
    }),
    { description: 'In the order of the documentation.' },
  ),
  risks: Type.Array(Type.String(), {
    description: 'Settings that make the daemon easier to break into than it need be, each with its remedy.',
  }),
});
