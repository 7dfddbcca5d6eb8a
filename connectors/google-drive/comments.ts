import type { drive_v3 } from '@googleapis/drive';
import type { FetchedDocument } from 'memoryd/connector';
import { errorOf, tryAsk } from './client.ts';
import type { DriveContext } from './config.ts';

const fields =
  'nextPageToken,comments(author(displayName),content,createdTime,deleted,quotedFileContent(value),replies(author(displayName),content,deleted))';

/** Comments on a file with their answers, as one part of its document; undefined when there are none. */
export async function commentsOf(ctx: DriveContext, fileId: string): Promise<FetchedDocument | undefined> {
  const comments: drive_v3.Schema$Comment[] = [];
  let pageToken: string | undefined;
  do {
    const answer = await tryAsk(ctx, (drive) =>
      drive.comments.list({ fileId, pageSize: 100, ...(pageToken && { pageToken }), fields }),
    );
    if ('refusal' in answer) {
      // Viewers of a file do not see its comments.
      if (answer.refusal.status === 403) return undefined;
      throw errorOf(answer.refusal);
    }
    comments.push(...(answer.data.comments ?? []));
    pageToken = answer.data.nextPageToken ?? undefined;
  } while (pageToken !== undefined);
  const shown = comments.filter(({ deleted, content }) => deleted !== true && content);
  return shown.length === 0 ? undefined : { title: 'Comments', markdown: shown.map(commentText).join('\n\n') };
}

function commentText({ author, content, quotedFileContent, replies }: drive_v3.Schema$Comment): string {
  const quoted = quotedFileContent?.value;
  const answers = (replies ?? []).filter((reply) => reply.deleted !== true && reply.content);
  return [
    ...(quoted ? [`> ${quoted.replaceAll('\n', '\n> ')}`] : []),
    `**${author?.displayName ?? 'Somebody'}**: ${content}`,
    ...answers.map((reply) => `**${reply.author?.displayName ?? 'Somebody'}** answers: ${reply.content}`),
  ].join('\n\n');
}
