import Type from 'typebox';
import { nullable } from '../../schemas/shared.ts';
import { contentFields } from '../../schemas/settings.ts';
import { closedBody } from './shared.ts';

const { filterPrompt } = contentFields;

export const organizationAnswer = Type.Object({
  organizationalContext: nullable(Type.String()),
  namespaceCount: Type.Integer({ description: 'Namespaces that the key may read.' }),
});

export const organizationBody = closedBody({
  organizationalContext: Type.Unsafe<string | null>({
    ...filterPrompt,
    description: 'Describes content worth keeping. The same as filterPrompt of GET /v3/settings.',
  }),
});
