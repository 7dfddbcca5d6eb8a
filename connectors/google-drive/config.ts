import type { Context, JsonSchema } from 'memoryd/connector';

/** Settings of a connection of this connector. */
export interface DriveConfig {
  comments?: boolean;
}

export type DriveContext = Context<DriveConfig>;

export const configSchema: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    comments: {
      type: 'boolean',
      title: 'Comments',
      description: 'Mirror the comments on a file, with their answers, as a part of its document.',
      default: false,
      'x-order': 1,
    },
  },
};
