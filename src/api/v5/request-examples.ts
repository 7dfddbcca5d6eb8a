/** The same for the operations of the second dialect. */
export const namespaceExamples: Readonly<Record<string, unknown>> = {
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
