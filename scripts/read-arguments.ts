import { readFileSync } from 'node:fs';
import { parseArgs, type ParseArgsConfig } from 'node:util';

/**
 * What a script was given, as `parseArgs` reads it. With `--help` or `-h` it prints the comment that the script begins
 * with, and ends with 0; with an argument that the script does not take, the error as well, and ends with 2.
 */
export function readArguments<const Config extends ParseArgsConfig>(
  script: string,
  config: Config,
): ReturnType<typeof parseArgs<Config>> {
  if (process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) {
    console.log(usageOf(script));
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usageOf(script)}`);
    process.exit(2);
  }
}

function usageOf(script: string): string {
  const [, comment = ''] = /^\/\*\*\n([\s\S]*?)\n \*\//.exec(readFileSync(script, 'utf8')) ?? [];
  return comment.replaceAll(/^ \* ?/gm, '');
}
