import { useEffect, useState } from 'preact/hooks';
import { Button, Notice } from '../parts/controls.tsx';
import { TextField } from '../parts/field.tsx';
import { ProductMark } from '../parts/source-mark.tsx';
import { goTo, route } from '../route.ts';
import { hasExpired, resume, session, signIn } from '../session.ts';
import { texts } from '../texts.ts';
import { useAction } from '../use-action.ts';

/** With a key, or with the one-time link that stands in the address. */
export function SignIn() {
  const [key, setKey] = useState('');
  const [first, link] = route.value.path;
  const byKey = useAction(async () => signIn({ key: key.trim() }));
  const byLink = useAction(async (token: string) => {
    try {
      await signIn({ link: token });
      goTo([]);
    } catch {
      // The link may have been opened twice: then there is a session already.
      await resume();
      goTo([]);
      if (!session.value) throw new Error(texts.signIn.linkFailed);
    }
  });
  useEffect(() => {
    document.title = `${texts.signIn.title} · ${texts.product}`;
    if (first === 'sign-in' && link !== undefined) byLink.run(link);
    else if (first === 'sign-in') goTo([]);
  }, [first, link]);
  return (
    <main class="sign-in">
      <span class="brand">
        <ProductMark />
        {texts.product}
      </span>
      <h1 tabIndex={-1}>{byLink.isBusy ? texts.signIn.working : texts.signIn.title}</h1>
      {hasExpired.value && <Notice tone="warn">{texts.signIn.expired}</Notice>}
      {(byLink.error || byKey.error) && <Notice tone="bad">{byLink.error || byKey.error}</Notice>}
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          byKey.run();
        }}
      >
        <TextField label={texts.signIn.key} type="password" value={key} onInput={setKey} help={texts.signIn.keyHelp} />
        <div>
          <Button submit look="main" isBusy={byKey.isBusy}>
            {texts.signIn.submit}
          </Button>
        </div>
      </form>
      <div>
        <p class="quiet">{texts.signIn.byLink}</p>
        <pre class="code">npx memoryd console</pre>
      </div>
    </main>
  );
}
