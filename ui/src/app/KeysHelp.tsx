import { useText } from '../i18n/Text.tsx';
import type { TextKey } from '../i18n/locale.ts';
import { Button } from '../parts/Button.tsx';
import { Dialog } from '../parts/Dialog.tsx';

const keys: ReadonlyArray<readonly [TextKey, string[]]> = [
  ['app.keys.palette', ['Ctrl', 'K']],
  ['app.keys.home', ['G', 'H']],
  ['app.keys.approvals', ['G', 'A']],
  ['app.keys.assistants', ['G', 'C']],
  ['app.keys.activity', ['G', 'Y']],
  ['app.keys.settings', ['G', 'S']],
  ['app.keys.region', ['F6']],
  ['app.keys.save', ['Ctrl', 'S']],
  ['app.keys.tabs', ['Ctrl', 'Alt', '←/→']],
  ['app.keys.session', ['1–5']],
  ['app.keys.help', ['?']],
  ['app.keys.move', ['J/K']],
  ['app.keys.unfold', ['O']],
  ['app.keys.accept', ['A', 'A']],
  ['app.keys.decline', ['D']],
];

export function KeysHelp({ onClose }: { onClose: () => void }) {
  const say = useText();
  return (
    <Dialog isOpen onClose={onClose} title={say('app.keys')}>
      <dl className="keys">
        {keys.map(([text, pressed]) => (
          <div key={text}>
            <dt>{say(text)}</dt>
            <dd>
              {pressed.map(key => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      <p className="help">{say('app.keys.off')}</p>
      <div className="actions">
        <Button onPress={onClose}>{say('app.close')}</Button>
      </div>
    </Dialog>
  );
}
