import { KeyRound } from 'lucide-react';
import { useState } from 'react';
import { Radio, RadioGroup } from 'react-aria-components';
import { chooseDensity, chooseTheme, density, theme, type Density, type Theme } from '../app/appearance.ts';
import { asApiError } from '../data/api.ts';
import { useList } from '../data/cache.ts';
import { keep } from '../data/kept.ts';
import { lettersOff } from '../app/keys.ts';
import { createToken, revokeToken, tokensQuery } from '../data/me.ts';
import type { PersonalToken } from '../data/types.ts';
import { Text, useText } from '../i18n/Text.tsx';
import { chooseLanguage, chosenLanguage, languages, offered, type Language } from '../i18n/locale.ts';
import { Button } from '../parts/Button.tsx';
import { Copy } from '../parts/Copy.tsx';
import { Dialog, FormDialog } from '../parts/Dialog.tsx';
import { Checkbox, Select, TextField } from '../parts/Field.tsx';
import { More } from '../parts/More.tsx';
import { Page } from '../parts/Page.tsx';
import { Empty, LoadedList } from '../parts/State.tsx';
import { Tabs } from '../parts/Tabs.tsx';
import { done, failed } from '../parts/toast.ts';
import { Ago, Name } from '../parts/words.tsx';
import { Profile } from './settings/Profile.tsx';

const sections = ['profile', 'appearance', 'tokens'] as const;
type Section = (typeof sections)[number];

export function Settings({ section }: { section?: string }) {
  const say = useText();
  const chosen: Section = sections.find(name => name === section) ?? 'profile';
  return (
    <Page title={say('app.settings')}>
      <Tabs
        label={say('app.settings')}
        chosen={chosen}
        tabs={sections.map(id => ({ id, text: say(`app.settings.${id}`), to: `/settings/${id}` }))}
      >
        {chosen === 'profile' && <Profile />}
        {chosen === 'appearance' && <Appearance />}
        {chosen === 'tokens' && <Tokens />}
      </Tabs>
    </Page>
  );
}

function Appearance() {
  const say = useText();
  const [chosenTheme, setTheme] = useState(theme);
  const [chosenDensity, setDensity] = useState(density);
  const [letters, setLetters] = useState(() => !lettersOff());
  return (
    <section className="card" aria-labelledby="appearance">
      <div className="sec">
        <h2 id="appearance">{say('app.settings.appearance')}</h2>
        <p className="help">{say('app.settings.browser')}</p>
      </div>
      <div className="sec stack">
        <Choice<Theme>
          label={say('app.theme')}
          value={chosenTheme}
          options={[
            ['system', say('app.theme.system')],
            ['light', say('app.theme.light')],
            ['dark', say('app.theme.dark')],
          ]}
          onChange={value => {
            chooseTheme(value);
            setTheme(value);
          }}
        />
        <Choice<Density>
          label={say('app.density')}
          value={chosenDensity}
          options={[
            ['comfortable', say('app.density.comfortable')],
            ['compact', say('app.density.compact')],
          ]}
          onChange={value => {
            chooseDensity(value);
            setDensity(value);
          }}
        />
        <div className="filters">
          <Select<Language | ''>
            label={say('app.language')}
            value={chosenLanguage() as Language | ''}
            options={[
              ['', say('app.language.browser')],
              ...offered.map(language => [language, languages[language]] as const),
            ]}
            onChange={language => void chooseLanguage(language)}
          />
        </div>
        <Checkbox
          isSelected={letters}
          onChange={on => {
            keep('letters', on ? null : 'off');
            setLetters(on);
          }}
        >
          {say('app.settings.letters')}
        </Checkbox>
      </div>
    </section>
  );
}

interface ChoiceProps<T> {
  label: string;
  value: T;
  options: ReadonlyArray<readonly [T, string]>;
  onChange: (value: T) => void;
}

const Choice = <T extends string>({ label, value, options, onChange }: ChoiceProps<T>) => (
  <div className="field">
    <span className="label" aria-hidden>
      {label}
    </span>
    <div>
      <RadioGroup
        className="seg"
        aria-label={label}
        orientation="horizontal"
        value={value}
        onChange={choice => onChange(choice as T)}
      >
        {options.map(([id, text]) => (
          <Radio key={id} value={id}>
            {text}
          </Radio>
        ))}
      </RadioGroup>
    </div>
  </div>
);

function Tokens() {
  const say = useText();
  const list = useList(tokensQuery);
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<PersonalToken>();
  const [ending, setEnding] = useState<PersonalToken>();
  return (
    <section className="card" aria-labelledby="tokens">
      <div className="sec row">
        <div>
          <h2 id="tokens">{say('app.settings.tokens')}</h2>
          <p className="help">{say('app.tokens.text')}</p>
        </div>
        <div className="end">
          <Button kind="primary" onPress={() => setMaking(true)}>
            {say('app.tokens.new')}
          </Button>
        </div>
      </div>
      <LoadedList of={list}>
        {items =>
          items.length === 0 ? (
            <div className="sec">
              <Empty icon={KeyRound} title={say('app.tokens.none')} />
            </div>
          ) : (
            <ul className="list">
              {items.map(token => (
                <li key={token.id}>
                  <KeyRound aria-hidden />
                  <div className="what">
                    <span className="title">
                      <Name>{token.name}</Name>
                    </span>
                    <span className="meta">
                      <span>
                        <Text of="app.made" when={<Ago at={token.created_at} />} />
                      </span>
                      <span>
                        {token.last_used_at ? (
                          <Text of="app.used" when={<Ago at={token.last_used_at} />} />
                        ) : (
                          say('app.unused')
                        )}
                      </span>
                    </span>
                  </div>
                  <div className="acts">
                    <Button
                      onPress={() => setEnding(token)}
                      aria-label={say('app.tokens.end.label', { token: token.name })}
                    >
                      {say('app.tokens.end')}
                    </Button>
                  </div>
                </li>
              ))}
            </ul>
          )
        }
      </LoadedList>
      <More of={list} />
      <FormDialog
        isOpen={making}
        onClose={() => setMaking(false)}
        title={say('app.tokens.new')}
        submit={say('app.tokens.create')}
        onSubmit={async form => setMade(await createToken(String(form.get('name'))))}
      >
        {faults => (
          <TextField
            label={say('app.name')}
            name="name"
            help={say('app.tokens.name.help')}
            isRequired
            autoFocus
            autoComplete="off"
            fault={faults.name}
          />
        )}
      </FormDialog>
      <Dialog isOpen={made !== undefined} onClose={() => setMade(undefined)} title={say('app.tokens.made')}>
        <p>{say('app.tokens.once')}</p>
        <Copy label={say('app.tokens.token')} text={made?.token ?? ''} copied={say('app.tokens.copied')} />
        <div className="actions">
          <Button onPress={() => setMade(undefined)}>{say('app.close')}</Button>
        </div>
      </Dialog>
      <FormDialog
        isOpen={ending !== undefined}
        onClose={() => setEnding(undefined)}
        title={say('app.tokens.end.title', { token: ending?.name ?? '' })}
        submit={say('app.tokens.end')}
        danger
        onSubmit={async () => {
          try {
            await revokeToken(ending!.id);
            done(say('app.tokens.ended', { token: ending!.name }));
          } catch (thrown) {
            failed(asApiError(thrown).message);
            throw thrown;
          }
        }}
      >
        <p>{say('app.tokens.end.text')}</p>
      </FormDialog>
    </section>
  );
}
