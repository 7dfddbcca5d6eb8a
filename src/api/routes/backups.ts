import Type from 'typebox';
import { requireFullKey, requireManagement } from '../../account/access.ts';
import { MemorydError } from '../../base/errors.ts';
import { callerOf, type Api, type RouteContext } from '../request.ts';
import { nullable, timestamp } from '../schemas/shared.ts';

const backup = Type.Object({
  name: Type.String(),
  at: timestamp,
  path: Type.String({ description: 'A data directory: a daemon starts on it, or on a copy of it.' }),
  bytes: Type.Integer(),
});

const backupsAnswer = Type.Object({
  offered: Type.Boolean({ description: 'False with PostgreSQL, which has means of its own, such as pg_dump.' }),
  backups: Type.Array(backup, { description: 'Newest first.' }),
});

/** When backups are made by themselves. */
export const backupScheduleAnswer = Type.Object({
  schedule: Type.String({ description: 'As the setting `backup.schedule` has it.' }),
  keep: Type.Integer({ description: 'How many stay.' }),
  lastAt: nullable(timestamp, { description: 'When the newest was made, by itself or on demand.' }),
  nextAt: timestamp,
  failure: nullable(Type.Object({ at: timestamp, reason: Type.String() }), {
    description: 'Of the last that was due; null when it did not fail. It is tried again after an hour.',
  }),
  isOverdue: Type.Boolean({ description: 'One was due more than an hour ago and is not there.' }),
});

const backupBody = Type.Object(
  {
    keep: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000,
        description: 'How many backups stay, this one among them; older ones are deleted. Absent: all.',
      }),
    ),
  },
  { additionalProperties: false },
);

const tags = ['Service'];

/** Copies of the embedded database, made while it is in use. */
export function backupRoutes(app: Api, { services }: RouteContext): void {
  app.get(
    '/v3/system/backups',
    {
      schema: {
        operationId: 'listBackups',
        summary: 'List the backups',
        description: 'Those that the daemon made, and that are still where it put them. Needs a full key.',
        tags,
        response: { 200: backupsAnswer },
      },
    },
    async (request) => {
      requireFullKey(callerOf(request));
      const backups = (await services.backups?.list()) ?? [];
      return { offered: services.backups !== null, backups };
    },
  );

  app.post(
    '/v3/system/backups',
    {
      config: { audit: 'backup' },
      schema: {
        operationId: 'makeBackup',
        summary: 'Make a backup',
        description:
          'Copies the embedded database with the encryption key and the chosen models into the folder backups of the data directory. Requests go on meanwhile: those that need the database wait twice for a moment. Needs a full key that may write.',
        tags,
        body: backupBody,
        response: { 200: backup },
      },
    },
    async (request) => {
      requireManagement(callerOf(request));
      if (!services.backups) {
        throw new MemorydError('conflict', 'PostgreSQL is backed up by its own means, such as pg_dump.', {
          shouldRetry: false,
        });
      }
      const made = await services.backups.make(request.body.keep ?? null);
      request.auditTarget = made.name;
      return made;
    },
  );
}
