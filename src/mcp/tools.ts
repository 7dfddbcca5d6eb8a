import type { Tool } from './tool.ts';
import { addMemory } from './tools/add-memory.ts';
import { correctMemory } from './tools/correct-memory.ts';
import { forgetMemory } from './tools/forget-memory.ts';
import { getDocument } from './tools/get-document.ts';
import { listConnections } from './tools/list-connections.ts';
import { listDocuments } from './tools/list-documents.ts';
import { listMemories } from './tools/list-memories.ts';
import { listSpaces } from './tools/list-spaces.ts';
import { searchMemory } from './tools/search-memory.ts';
import { syncConnection } from './tools/sync-connection.ts';
import { whoAmI } from './tools/who-am-i.ts';

/** In the order in which they are listed. */
export const tools: readonly Tool[] = [
  searchMemory,
  addMemory,
  correctMemory,
  forgetMemory,
  listDocuments,
  getDocument,
  listMemories,
  listSpaces,
  whoAmI,
  listConnections,
  syncConnection,
];
