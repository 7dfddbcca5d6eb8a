import type { JsonSchema } from 'memoryd/connector';

/** Settings of a connection of this connector. Absent fields have the defaults of `configSchema`. */
export interface NotionConfig {
  comments?: boolean;
  files?: boolean;
  images?: boolean;
  transcripts?: boolean;
}

export const configSchema: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    comments: {
      type: 'boolean',
      title: 'Comments',
      description:
        'Open comments of each page as a part of it. Costs one more request a page, and the capability Read comments.',
      default: false,
      'x-order': 1,
    },
    files: {
      type: 'boolean',
      title: 'Attached files',
      description: 'The text of PDF, Office and text files that were uploaded to a page.',
      default: true,
      'x-order': 2,
    },
    images: {
      type: 'boolean',
      title: 'Images',
      description: 'The text of uploaded images, where a model that reads images is configured.',
      default: false,
      'x-order': 3,
    },
    transcripts: {
      type: 'boolean',
      title: 'Transcripts',
      description: 'Transcripts of meetings whose notes Notion took, in place of a link to them.',
      default: true,
      'x-order': 4,
    },
  },
};
