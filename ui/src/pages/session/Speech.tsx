import { ArrowDown } from 'lucide-react';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { onSpeech, speechOf } from '../../data/speech.ts';
import { clean } from '../../i18n/format.ts';
import { useText } from '../../i18n/Text.tsx';
import { Button } from '../../parts/Button.tsx';

interface Props {
  task: string;
  number: number;
  /** What the server read of the round. */
  read: string;
  label: string;
  /** It goes on: the box follows its end until somebody scrolls up. */
  live: boolean;
  /** Asks the server again, when pieces are missing. */
  onGap: () => void;
}

const near = 24; // pixels from the end that still count as its end

/**
 * What an agent says, while it says it. Pieces are put behind the text that is
 * there, so that a selection stays, and nothing else is drawn anew.
 */
export function Speech({ task, number, read, label, live, onGap }: Props) {
  const say = useText();
  const box = useRef<HTMLDivElement>(null);
  const text = useRef<HTMLPreElement>(null);
  const follows = useRef(true);
  const [behind, setBehind] = useState(false);
  const gap = useRef(onGap);
  useEffect(() => {
    gap.current = onGap;
  });
  useLayoutEffect(() => {
    const draw = () => {
      const speech = speechOf(task, number, read);
      if (live && speech.gap) gap.current();
      // What the server has of a round that is over is all of it.
      append(text.current!, clean(live ? speech.text : read || speech.text));
      const { current } = box;
      if (live && follows.current && current) current.scrollTop = current.scrollHeight;
    };
    draw();
    return onSpeech(task, number, draw);
  }, [task, number, read, live]);
  const look = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current!;
    follows.current = scrollHeight - scrollTop - clientHeight <= near;
    setBehind(!follows.current);
  };
  const jump = () => {
    follows.current = true;
    box.current!.scrollTop = box.current!.scrollHeight;
    setBehind(false);
  };
  return (
    <div className="speech">
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, by keyboard too */}
      <div ref={box} className="speechbox" role="region" aria-label={label} tabIndex={0} onScroll={look}>
        <pre ref={text} dir="auto" />
      </div>
      {live && behind && (
        <div className="jump">
          <Button onPress={jump}>
            <ArrowDown aria-hidden />
            {say('app.task.jump')}
          </Button>
        </div>
      )}
    </div>
  );
}

/** Puts the text into the element, in place only where it is not what was there and more. */
function append(element: HTMLElement, text: string): void {
  const node = element.firstChild;
  if (!(node instanceof globalThis.Text)) element.textContent = text;
  else if (text.startsWith(node.data)) node.appendData(text.slice(node.data.length));
  else node.data = text;
}
