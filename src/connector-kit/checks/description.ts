import { Ajv2020 } from 'ajv/dist/2020.js';
import { connectorProblems, unmarkedSecrets } from '../../connector/connector-shape.ts';
import type { CheckResult } from '../../connector/contract.ts';
import { impatient } from '../impatient.ts';
import { firstOf, needsAsking, needsWorld, worldWith, type Check } from '../check.ts';
import type { Harness } from '../harness.ts';
import type { CredentialTrouble } from '../world.ts';

/** Checks about what a connector says of itself: 1 and 2. */
export const descriptionChecks: readonly Check[] = [
  {
    number: 1,
    name: 'spec',
    title: 'the description of the connector is valid, and its secrets are marked',
    async run(harness) {
      const { connector, world } = harness;
      for (const problem of connectorProblems(connector)) harness.expect(false, problem);
      const unmarked = unmarkedSecrets(connector.spec);
      harness.expect(
        unmarked.length === 0,
        `These fields look like secrets and lack \`"x-secret": true\` (or false, if they are none): ${unmarked.join(', ')}.`,
      );
      const again = JSON.stringify(connector.spec);
      harness.expect(again === JSON.stringify(connector.spec), 'The description differs from one look to the next.');
      const ajv = new Ajv2020({ allErrors: true, useDefaults: true, strict: false, validateFormats: false });
      const validate = ajv.compile(connector.spec.config);
      const valid = validate(structuredClone(world.config));
      harness.expect(
        valid,
        `The world's configuration does not match \`spec.config\`: ${ajv.errorsText(validate.errors)}.`,
      );
    },
  },
  {
    number: 1,
    name: 'names',
    title: 'partitions and items keep their ids from one listing to the next',
    async run(harness) {
      await harness.populate(5);
      const first = await listedNames(harness);
      await harness.edit('note-2');
      const second = await listedNames(harness);
      harness.expect(first.partitions.length > 0, 'There is no partition.');
      harness.expect(new Set(first.partitions).size === first.partitions.length, 'Two partitions have one id.');
      harness.expect(
        first.partitions.every((id) => id.length > 0 && id.length <= 500),
        'The id of a partition must have 1 to 500 characters.',
      );
      const same = JSON.stringify(first) === JSON.stringify(second);
      harness.expect(same, `Ids changed: ${JSON.stringify(first)} became ${JSON.stringify(second)}.`);
    },
  },
  {
    number: 2,
    name: 'good',
    missing: needsAsking,
    title: '`check` finds a good connection good, with named probes',
    async run(harness) {
      await harness.populate(1);
      const results = await checked(harness);
      harness.expect(results.length > 0, '`check` answers no probe.');
      const names = new Set(results.map((result) => result.name));
      harness.expect(names.size === results.length, 'Two probes have one name.');
      const untitled = results.find((result) => !result.name || !result.title);
      harness.expect(untitled === undefined, 'Each probe needs a name and a title.');
      const failed = results.find((result) => result.status === 'failed');
      harness.expect(failed === undefined, `The probe ${failed?.name} failed: ${failed?.detail}.`);
      harness.expect(
        results.some((result) => result.status === 'ok'),
        'No probe is ok.',
      );
    },
  },
  ...(['refused', 'slow'] as const).map(credentialCheck),
];

/** A refused credential is `failed`; a source that does not answer says nothing about it. */
function credentialCheck(trouble: CredentialTrouble): Check {
  const wanted = trouble === 'refused' ? 'failed' : 'unknown';
  return {
    number: 2,
    name: trouble,
    title: `\`check\` answers ${wanted} when the source ${trouble === 'slow' ? 'does not answer' : 'refuses the credential'}`,
    missing: ({ world }) => firstOf(needsWorld(world, 'credential')),
    async run(harness) {
      await harness.populate(1);
      await worldWith(harness, 'credential').credential.break(trouble);
      const results = await checked(harness, trouble === 'slow' ? 100 : undefined);
      const statuses = results.map(({ name, status }) => `${name} ${status}`).join(', ');
      harness.expect(
        results.some((result) => result.status === wanted),
        `No probe is ${wanted}: ${statuses}.`,
      );
      const other = trouble === 'slow' ? 'failed' : undefined;
      const wrong = results.find((result) => result.status === other);
      harness.expect(wrong === undefined, `Nothing is proven by silence, yet the probe ${wrong?.name} is ${other}.`);
      const silent = results.find((result) => result.status !== 'ok' && !result.detail);
      harness.expect(silent === undefined, `The probe ${silent?.name} does not say what is wrong.`);
    },
  };
}

/** `momentMs`: a source that does not answer is not waited for. */
async function checked(harness: Harness, momentMs?: number): Promise<CheckResult[]> {
  const { connector, world } = harness;
  return harness.withContext((context) =>
    connector.check(
      momentMs === undefined ? impatient(context, 30_000) : impatient(context, momentMs, world.impatience),
    ),
  );
}

/** Ids as a whole listing shows them, sorted: order is no promise. */
async function listedNames(harness: Harness): Promise<{ partitions: string[]; ids: string[] }> {
  return harness.withContext(async (context) => {
    const partitions = await harness.connector.partitions(context);
    const ids: string[] = [];
    for (const partition of partitions) {
      let from: unknown;
      do {
        const page = await harness.connector.list(context, partition, from);
        ids.push(...page.refs.map((ref) => ref.id));
        from = page.done ? undefined : page.next;
      } while (from !== undefined);
    }
    return { partitions: partitions.map((partition) => partition.id), ids: ids.sort() };
  });
}
