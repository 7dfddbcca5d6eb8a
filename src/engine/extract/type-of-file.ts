import { isWideText } from './charset.ts';
import { isBinary, sniffMagic } from './magic.ts';

/** Types of files that hold no text, as documents name them. */
export type MediaType = 'pdf' | 'image' | 'audio' | 'video';

const mediaTypes: readonly string[] = ['pdf', 'image', 'audio', 'video'] satisfies MediaType[];

const extensions: Record<MediaType, RegExp> = {
  pdf: /\.pdf$/i,
  image: /\.(?:png|jpe?g|gif|webp|tiff?|bmp|ico|heic|heif|avif)$/i,
  audio: /\.(?:mp3|wav|m4a|ogg|oga|flac|aac|opus)$/i,
  video: /\.(?:mp4|m4v|mov|webm|avi|mkv)$/i,
};

/**
 * By the content, then by the MIME type, then by the name (section 10.1 of the API). Undefined for
 * everything else; text is never a recording, whatever its sender calls it: browsers say video/mp2t of TypeScript.
 */
export function typeOfFile(bytes: Uint8Array, mimeType?: string, name = ''): MediaType | undefined {
  const binary = !isWideText(bytes) && isBinary(bytes);
  const kind = sniffMagic(bytes, binary)?.kind;
  if (kind !== undefined) return mediaTypes.includes(kind) ? (kind as MediaType) : undefined;
  if (!binary) return undefined;
  const [, declared = ''] = /^(?:application\/)?(pdf|image|audio|video)(?:[/;]|$)/i.exec(mimeType ?? '') ?? [];
  if (declared !== '') return declared.toLowerCase() as MediaType;
  return (Object.keys(extensions) as MediaType[]).find((type) => extensions[type].test(name));
}
