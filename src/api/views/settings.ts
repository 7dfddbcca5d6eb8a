import { clientNames, type OrganizationSettings, type SettingsChange } from '../../account/settings.ts';
import type { SettingsAnswer, SettingsBody } from '../schemas/settings.ts';

/** Stands in for a secret that is set. */
const mask = '********';

/** Section 20.1: all settings side by side, secrets masked. */
export function settingsView({ content, clients }: OrganizationSettings): SettingsAnswer {
  const fields = clientNames.flatMap((name) => [
    [`${name}CustomKeyEnabled`, clients[name].enabled],
    [`${name}ClientId`, clients[name].clientId],
    [`${name}ClientSecret`, clients[name].hasClientSecret ? mask : null],
  ]);
  return { ...content, ...Object.fromEntries(fields) } as SettingsAnswer;
}

const contentNames = [
  'shouldLLMFilter',
  'filterPrompt',
  'includeItems',
  'excludeItems',
  'chunkSize',
  'profileBuckets',
  'workspacePrompt',
] as const;

/** The change that a body asks for; a secret sent back masked is no change. */
export function settingsChange(body: SettingsBody): SettingsChange {
  const content = contentNames.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]]));
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
