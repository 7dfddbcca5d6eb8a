import type { Context, JsonSchema } from 'memoryd/connector';

/** What a connection of this connector is configured with. */
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
