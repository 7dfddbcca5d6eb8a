import type { SettingsAnswer, SettingsBody } from '../schemas/settings.ts';
import {
  clientNames,
  contentSettingNames,
  type OrganizationSettings,
  type SettingsChange,
} from '../../account/settings.ts';
import { requireFullKey, requireManagement } from '../../account/access.ts';
import { callerOf, type Api, type RouteContext } from '../request.ts';
import * as schemas from '../schemas/settings.ts';

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

/** Stands in for a secret that is set. */
const mask = '********';

/** Section 20.1 of the API: all settings side by side, secrets masked. */
function settingsView({ content, clients }: OrganizationSettings): SettingsAnswer {
  const fields = clientNames.flatMap((name) => [
    [`${name}CustomKeyEnabled`, clients[name].enabled],
    [`${name}ClientId`, clients[name].clientId],
    [`${name}ClientSecret`, clients[name].hasClientSecret ? mask : null],
  ]);
  return { ...content, ...Object.fromEntries(fields) } as SettingsAnswer;
}

/** The change that a body asks for; a secret sent back masked is no change. */
function settingsChange(body: SettingsBody): SettingsChange {
  const content = contentSettingNames.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]]));
  const clients = clientNames.flatMap((name) => {
    const secret = body[`${name}ClientSecret`];
    const change = {
      enabled: body[`${name}CustomKeyEnabled`],
      clientId: body[`${name}ClientId`],
      clientSecret: secret === mask ? undefined : secret,
    };
    const given = Object.entries(change).filter(([, value]) => value !== undefined);
    return given.length === 0 ? [] : [[name, Object.fromEntries(given)] as const];
  });
  return { content: Object.fromEntries(content), clients: Object.fromEntries(clients) };
}
