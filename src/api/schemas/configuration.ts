import Type from 'typebox';

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
    description: 'What makes the daemon easier to get into than it need be, each with what to do.',
  }),
});
