import type { Api, RouteContext } from '../request.ts';
import { namespaceConnectorRoutes } from './routes/connectors.ts';
import { namespaceAddRoutes, namespaceDocumentRoutes } from './routes/documents.ts';
import { namespaceListRoutes } from './routes/lists.ts';
import { namespaceMemoryRoutes } from './routes/memories.ts';
import { ownNamespaceRoutes } from './routes/namespaces.ts';
import { organizationRoutes } from './routes/organization.ts';
import { namespaceBucketRoutes, namespaceProfileRoutes } from './routes/profile.ts';
import { namespaceSearchRoutes } from './routes/search.ts';

/** The second dialect: what is in the path is the scope, and bodies are closed. Those that take forms are apart. */
export function namespaceRoutes(app: Api, context: RouteContext): void {
  namespaceAddRoutes(app, context);
  namespaceDocumentRoutes(app, context);
  namespaceSearchRoutes(app, context);
  namespaceProfileRoutes(app, context);
  namespaceListRoutes(app, context);
  namespaceMemoryRoutes(app, context);
  namespaceBucketRoutes(app, context);
  ownNamespaceRoutes(app, context);
  organizationRoutes(app, context);
  namespaceConnectorRoutes(app, context);
}
