/** The same for the operations of the second dialect. */
const namespaceExamples: Readonly<Record<string, unknown>> = {
  addNamespaceDocument: {
    content: 'Mira asked to move the weekly review to Thursdays.',
    id: 'slack-4711',
    metadata: { channel: 'slack', labels: ['planning'] },
  },
  addNamespaceDocuments: {
    documents: [
      { content: 'The workshop is on the second floor.', id: 'note-1' },
      { content: 'Tools are lent for a week.', id: 'note-2', metadata: { channel: 'notes' } },
    ],
    dreaming: 'instant',
  },
  updateNamespaceDocument: { metadata: { channel: 'slack', archived: true } },
  deleteNamespaceDocuments: { ids: ['slack-4711'] },
  searchNamespace: {
    query: 'When is the weekly review?',
    filter: { field: 'channel', operator: 'eq', value: 'slack' },
    include: { documents: true },
  },
  getNamespaceProfile: { buckets: ['preferences'] },
  putNamespaceBuckets: { buckets: { work: 'Role, employer, projects and work decisions.' } },
  deleteNamespaceBuckets: { buckets: ['work'] },
  updateNamespace: { supportingContext: 'Notes of and about Mira, who plans the workshop.' },
  createNamespaceConnector: { provider: 'notion', documentLimit: 1_000 },
  updateNamespaceConnector: { documentLimit: 1_000 },
  syncNamespaceConnector: {},
  updateOrganization: { organizationalContext: null },
  listNamespace: { filter: { field: 'channel', operator: 'eq', value: 'slack' } },
  forgetNamespaceMemories: { ids: ['nTPk8XTiGcUdNT3AYCUWzQ'] },
  forgetMatchingNamespaceMemories: { query: 'weekly review', dryRun: true },
};

/**
 * A body for each operation that takes JSON, by operation id: what the page of the API shows and sends
 * when somebody tries an operation. None brings anything about that its reader would not want.
 */
export const requestExamples: Readonly<Record<string, unknown>> = {
  ...namespaceExamples,
  addDocument: {
    content: 'Mira asked to move the weekly review to Thursdays.',
    containerTag: 'user_mira',
    customId: 'slack-4711',
    metadata: { channel: 'slack', labels: ['planning'] },
  },
  addDocuments: {
    containerTag: 'user_mira',
    documents: [
      { content: 'The workshop is on the second floor.', customId: 'note-1' },
      { content: 'Tools are lent for a week.', customId: 'note-2', metadata: { channel: 'notes' } },
    ],
  },
  updateDocument: { metadata: { channel: 'slack', archived: true } },
  countDocuments: { containerTag: 'user_mira', status: 'failed' },
  listDocuments: { containerTag: 'user_mira', limit: 10, page: 1, sort: 'createdAt', order: 'desc' },
  deleteDocuments: { ids: ['nTPk8XTiGcUdNT3AYCUWzQ'] },
  makeBackup: { keep: 7 },
  retryFailedDocuments: { containerTag: 'user_mira' },
  listDocumentsWithMemories: { containerTags: ['user_mira'], page: 1, limit: 10 },
  getDocumentsWithMemories: { ids: ['nTPk8XTiGcUdNT3AYCUWzQ'] },
  addConversation: {
    conversationId: 'chat-2026-11-21',
    containerTag: 'user_mira',
    messages: [
      { role: 'user', content: 'I have moved to Lisbon.' },
      { role: 'assistant', content: 'Noted. Shall I look for meetups there?' },
    ],
  },
  signIn: { key: 'sm_…' },
  search: { q: 'When is the weekly review?', containerTag: 'user_mira', searchMode: 'hybrid', limit: 5 },
  createMemories: {
    containerTag: 'user_mira',
    memories: [{ content: 'Mira prefers reviews on Thursdays.', isStatic: true }],
  },
  updateMemory: {
    containerTag: 'user_mira',
    content: 'Mira prefers reviews on Thursdays.',
    newContent: 'Mira prefers reviews on Fridays.',
  },
  forgetMemory: { containerTag: 'user_mira', content: 'Mira prefers reviews on Fridays.', reason: 'no longer true' },
  listMemories: { containerTag: 'user_mira', page: 1, limit: 10, sort: 'createdAt', order: 'desc' },
  forgetMatchingMemories: { containerTag: 'user_mira', query: 'weekly review', dryRun: true },
  getProfile: { containerTag: 'user_mira', q: 'weekly review' },
  listProfileBuckets: { containerTag: 'user_mira' },
  createConnection: {
    containerTag: 'user_mira',
    documentLimit: 1_000,
    metadata: { department: 'product' },
    schedule: '4h',
  },
  changeConnection: { schedule: '1h', metadata: { department: 'product' } },
  deleteConnection: { containerTag: 'user_mira' },
  listConnections: { containerTags: ['user_mira'] },
  getConnectionByTag: { containerTag: 'user_mira' },
  listProviderDocuments: { containerTag: 'user_mira', page: 1, limit: 10 },
  syncConnection: { mode: 'incremental' },
  importConnections: { containerTag: 'user_mira' },
  pushItems: {
    deliveryId: 'delivery-1',
    upserts: [{ id: 'ticket-4711', title: 'The door sticks', text: 'The door of the workshop sticks.' }],
    deletes: ['ticket-4710'],
  },
  retryItems: { state: ['failed', 'dead'] },
  previewConnection: { filters: { include: ['docs/**'], maxBytes: 10_000_000 } },
  configureConnection: { resources: [] },
  acceptConnectorHook: { secret: 'secret_9bMkOzfxAhXT01gJ8YbGyj8' },
  updateContainerTag: { name: 'Mira', entityContext: 'Notes of and about Mira, who plans the workshop.' },
  erase: { documents: ['nTPk8XTiGcUdNT3AYCUWzQ'] },
  mergeContainerTags: { containerTags: ['user_mira', 'user_mira_old'], targetContainerTag: 'user_mira' },
  reviewInferredMemory: { action: 'approve' },
  updateSettings: { profileBuckets: [{ key: 'preferences', description: 'What somebody likes and dislikes.' }] },
  resetOrganization: { confirmation: 'the name of your organization' },
  createScopedKey: { containerTag: 'user_mira', name: 'notebook', permission: 'read', expiresInDays: 90 },
  createAgentKey: { name: 'assistant', containerTags: ['user_mira'], permission: 'read', expiresInDays: 90 },
  changeKey: { rateLimitMax: 600, rateLimitTimeWindow: 60_000, quota: { documents: 10_000, bytes: 1_000_000_000 } },
  rotateKey: { overlapHours: 24 },
};
