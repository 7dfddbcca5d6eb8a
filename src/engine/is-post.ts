const post = /^(?:(?:www|mobile)\.)?(?:twitter|x)\.com$/;

/** Whether an address is that of a post, which documents call a tweet (section 10.1 of the API). */
export function isPost(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && post.test(url.hostname) && /^\/[^/]+\/status\/\d+/.test(url.pathname);
}
