import type { ReactNode } from 'react';
import { Tab, TabList, TabPanel, Tabs as AriaTabs } from 'react-aria-components';
import { Badge } from './Badge.tsx';

export interface TabOf {
  id: string;
  text: ReactNode;
  to: string;
  /** How many things wait behind it. */
  count?: number | undefined;
}

interface TabsProps {
  label: string;
  tabs: TabOf[];
  chosen: string;
  /** Beside the tabs: what makes another. */
  end?: ReactNode;
  children: ReactNode;
}

/** Tabs whose choice is in the address: each is a link. */
export const Tabs = ({ label, tabs, chosen, end, children }: TabsProps) => (
  <AriaTabs className="tabs" selectedKey={chosen} keyboardActivation="manual">
    <div className="tabrow">
      <TabList aria-label={label} className="tablist">
        {tabs.map(tab => (
          <Tab key={tab.id} id={tab.id} href={tab.to} className="tab">
            {tab.text}
            {tab.count ? <Badge>{tab.count}</Badge> : null}
          </Tab>
        ))}
      </TabList>
      {end}
    </div>
    {/* Anew for each tab: a panel keeps its first ID, which is then not the one that the tab names. */}
    <TabPanel key={chosen} id={chosen} className="panel">
      {children}
    </TabPanel>
  </AriaTabs>
);
