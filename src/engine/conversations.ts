import { isDeepStrictEqual } from 'node:util';
import { firstOf } from '../base/collections.ts';
import type { Clock } from '../base/clock.ts';
import type { Database, Transaction } from '../store/database.ts';
import { lockByCustomId } from '../store/documents.ts';
import { readMessages, writeMessages } from '../store/document-contents.ts';
import { addDocuments } from './add-documents.ts';
import type { DocumentInput, DocumentStatus, IngestResult } from './document.ts';

/** One turn of a conversation, as it is stored. */
export interface Message {
  role: 'user' | 'assistant' | 'system' | 'tool';
  /** Text of all its parts; empty when it has none. */
  text: string;
  name?: string;
  /** Addresses of pictures. */
  images?: string[];
  tool_calls?: unknown[];
  tool_call_id?: string;
}

export interface ConversationInput extends Pick<
  DocumentInput,
  'containerTag' | 'metadata' | 'entityContext' | 'dreaming' | 'taskType' | 'documentDate' | 'addedBy'
> {
  conversationId: string;
  messages: readonly Message[];
}

export interface Conversations {
  /**
   * Stores a conversation or what is new of it (section 17 of the API): one document per container
   * and conversationId. Throws `conflict` while its container is merged.
   */
  add(input: ConversationInput): Promise<{ id: string; status: DocumentStatus }>;
}

export interface ConversationsOptions {
  database: Database;
  clock: Clock;
  /** Called after documents were queued, to wake workers. */
  wake(count: number): Promise<void>;
}

export function createConversations({ database, clock, wake }: ConversationsOptions): Conversations {
  async function store(tx: Transaction, input: ConversationInput): Promise<IngestResult> {
    const { containerTag, conversationId } = input;
    const [before] = await lockByCustomId(tx, [{ tag: containerTag, customId: conversationId }]);
    const stored = before ? ((await readMessages(tx, before.id)) as Message[] | null) : null;
    const messages = stored === null ? [...input.messages] : mergeMessages(stored, input.messages);
    // Turns that somebody wrote as a text, maybe at this moment, are known by their lines alone.
    const document = { ...documentOf(input, messages), ...(stored === null && { updateMode: 'append' as const }) };
    const result = firstOf(await addDocuments(tx, [document], clock));
    if (before && stored === null) return result;
    // Somebody else began the same conversation at the same moment: theirs is there now, and locked.
    if (!before && result.outcome !== 'created') return store(tx, input);
    if (!isDeepStrictEqual(messages, stored)) await writeMessages(tx, result.id, messages);
    return result;
  }

  return {
    async add(input) {
      const { id, status } = await database.transaction((tx) => store(tx, input));
      if (status === 'queued') await wake(1);
      return { id, status };
    },
  };
}

function documentOf(input: ConversationInput, messages: readonly Message[]): DocumentInput {
  const { conversationId, messages: _, ...fields } = input;
  return {
    ...fields,
    customId: conversationId,
    source: 'conversation',
    type: 'text',
    body: { kind: 'conversation', text: renderMessages(messages) },
  };
}

/** `role: text` lines; turns without text say nothing. */
export function renderMessages(messages: readonly Message[]): string {
  return messages
    .filter((message) => message.text.trim() !== '')
    .map(({ role, name, text }) => `${name === undefined ? role : `${role} (${name})`}: ${text.trim()}`)
    .join('\n\n');
}

/**
 * Merges a conversation with a part that was sent later: the longer one when it begins with what is
 * there; unchanged when what was sent is a part of it; from the first difference on what was sent;
 * and everything one after the other when nothing is in common.
 */
export function mergeMessages(stored: readonly Message[], sent: readonly Message[]): Message[] {
  const inCommon = commonStart(stored, sent);
  if (inCommon === stored.length) return [...stored, ...sent.slice(inCommon)];
  if (isRunOf(stored, sent)) return [...stored];
  if (inCommon > 0) return [...stored.slice(0, inCommon), ...sent.slice(inCommon)];
  return [...stored, ...sent.slice(overlap(stored, sent))];
}

function commonStart(stored: readonly Message[], sent: readonly Message[]): number {
  const end = stored.findIndex((message, index) => sent[index] === undefined || !isSame(message, sent[index]));
  return end === -1 ? stored.length : end;
}

function isRunOf(stored: readonly Message[], sent: readonly Message[]): boolean {
  const keys = stored.map(keyOf);
  const wanted = sent.map(keyOf);
  return keys.some((_, start) => wanted.every((key, index) => keys[start + index] === key));
}

/** How many of the stored conversation's last turns are sent again before the new ones. */
function overlap(stored: readonly Message[], sent: readonly Message[]): number {
  const keys = stored.map(keyOf);
  const wanted = sent.map(keyOf);
  for (let length = Math.min(keys.length, wanted.length); length > 0; length--) {
    if (wanted.slice(0, length).every((key, index) => keys[keys.length - length + index] === key)) return length;
  }
  return 0;
}

function isSame(left: Message, right: Message): boolean {
  return keyOf(left) === keyOf(right);
}

/** Turns are the same when role, name and text are, whatever their white space; and what they show and call. */
function keyOf({ role, name, text, images, tool_calls, tool_call_id }: Message): string {
  return JSON.stringify([role, name, text.replace(/\s+/g, ' ').trim(), images, tool_calls, tool_call_id]);
}
