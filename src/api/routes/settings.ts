import { requireFullKey, requireManagement } from '../../account/access.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import * as schemas from '../schemas/settings.ts';
import { settingsChange, settingsView } from '../views/settings.ts';

const tags = ['Settings'];

/** Section 20 of the API. All of it needs a full key. */
export function settingsRoutes(app: Api, context: RouteContext): void {
  readAndChangeRoutes(app, context);
  actionRoutes(app, context);
}

function readAndChangeRoutes(app: Api, { services, config }: RouteContext): void {
  app.get(
    '/v3/settings',
    {
      schema: {
        operationId: 'getSettings',
        summary: 'Get the settings of the organization',
        description: 'Secrets are masked.',
        tags,
        response: { 200: schemas.settingsAnswer },
      },
    },
    async (request) => {
      requireFullKey(callerOf(request));
      return settingsView(await services.settings.read());
    },
  );

  app.patch(
    '/v3/settings',
    {
      config: { sensitive: true, audit: 'settings.change' },
      schema: {
        operationId: 'updateSettings',
        summary: 'Change settings of the organization',
        description: 'Absent fields stay as they are, null clears. Applies to content ingested afterwards.',
        tags,
        body: schemas.settingsBody,
        response: { 200: schemas.settingsChangeAnswer },
      },
    },
    async (request) => {
      requireManagement(callerOf(request));
      const settings = await services.settings.change(settingsChange(request.body));
      const { id, slug } = config.organization;
      return { orgId: id, orgSlug: slug, updated: settingsView(settings) };
    },
  );
}

function actionRoutes(app: Api, { services }: RouteContext): void {
  app.post(
    '/v3/settings/suggest-buckets',
    {
      schema: {
        operationId: 'suggestBuckets',
        summary: 'Suggest buckets for profiles',
        description:
          'By the filterPrompt: made by the language model where one is configured, else picked from a built-in list. Nothing is saved.',
        tags,
        response: { 200: schemas.suggestionsAnswer },
      },
    },
    async (request) => {
      requireFullKey(callerOf(request));
      return { suggestions: await services.settings.suggestBuckets() };
    },
  );

  app.post(
    '/v3/settings/reset',
    {
      config: { replay: true, audit: 'organization.reset' },
      schema: {
        operationId: 'resetOrganization',
        summary: 'Delete all content and settings',
        description: 'The organization and its keys stay.',
        tags,
        body: schemas.resetBody,
        response: { 200: schemas.resetAnswer },
      },
    },
    async (request) => {
      requireManagement(callerOf(request));
      const report = await services.reset(request.body.confirmation);
      return {
        success: true,
        deletedConnections: report.connections,
        deletedDocumentBatches: report.documentBatches,
        deletedDocumentsApprox: report.documents,
        deletedMemoryRows: report.memories,
        deletedExtraSpaces: report.containers,
        clearedDefaultSpaceContext: report.clearedDefault,
        clearedBrainMemoryRegistry: false,
        settingsReset: true,
      };
    },
  );
}
