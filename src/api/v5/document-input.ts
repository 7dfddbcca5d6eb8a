import { MemorydError } from '../../base/errors.ts';
import type { DocumentInput, PartialDocumentChange } from '../../engine/document.ts';
import { contentOf, dateOf, requireSmall } from '../document-input.ts';

type Metadata = NonNullable<DocumentInput['metadata']>;

/** The fields of a document in a body or a form, beside its content. */
export interface SaidOfDocument {
  supportingContext?: string;
  metadata?: Metadata;
  group?: Metadata;
  date?: string;
  taskType?: 'memory' | 'superrag';
  dreaming?: 'instant' | 'dynamic';
}

/** Translates to the engine's input. Throws `validation_failed` for a date that does not exist, `invalid_request` for too much metadata. */
export function fieldsOf(said: SaidOfDocument) {
  const { supportingContext, metadata, group, date, taskType, dreaming } = said;
  requireSmall(metadata, 'metadata');
  requireSmall(group, 'group');
  return {
    supportingContext,
    metadata,
    filterByMetadata: group,
    documentDate: date === undefined ? undefined : dateOf(date, 'date'),
    taskType,
    dreaming,
  };
}

/** The input of a document that is added: more of it under the same id is appended. Throws `payload_too_large`, too. */
export function addedDocumentOf(
  { content, id, ...said }: SaidOfDocument & { content: string; id?: string },
  maxTextBytes: number,
): Omit<DocumentInput, 'containerTag'> {
  const body = contentFrom(content, maxTextBytes);
  return {
    body,
    source: body.kind === 'url' ? 'url' : 'api',
    url: body.kind === 'url' ? body.url : undefined,
    customId: id,
    ...fieldsOf(said),
    updateMode: 'append',
    mergesMetadata: true,
  };
}

export function documentChangeOf(
  { content, ...said }: SaidOfDocument & { content?: string },
  maxTextBytes: number,
): PartialDocumentChange {
  return { ...fieldsOf(said), body: content === undefined ? undefined : contentFrom(content, maxTextBytes) };
}

/** One address alone is fetched; one that cannot be is no text. */
function contentFrom(content: string, maxTextBytes: number) {
  const address = /^\s*([a-z][a-z0-9+.-]*):\/\/\S+\s*$/i.exec(content);
  const scheme = address?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== 'http' && scheme !== 'https') {
    throw new MemorydError('invalid_request', 'Unsupported URL scheme', {
      details: 'Only http and https addresses are fetched',
    });
  }
  if (scheme !== undefined && !URL.canParse(content.trim())) {
    throw new MemorydError('invalid_request', 'The address is not a valid URL');
  }
  return contentOf(content, maxTextBytes);
}
