package rehearse

import (
	"maps"
	"slices"
	"testing"
)

func quiet(int, int, string) {}

func TestPerCallFollowsTheRulesAndTokenOnlyAllowsStepsEightAndNine(t *testing.T) {
	for check, want := range map[Check][]int{PerCall: {}, TokenOnly: {8, 9}} {
		run, err := Access(t.Context(), check, 10, quiet)
		if err != nil {
			t.Fatal(err)
		}
		if got := run.Deviations(); !slices.Equal(got, want) {
			t.Errorf("%s: steps %v differ from the rules, want %v: %+v", check, got, want, run.Steps)
		}
		for _, s := range run.Steps {
			allowed := s.Number != 4 && s.Number != 5 && s.Number < 7 || slices.Contains(want, s.Number)
			if s.Allowed != allowed {
				t.Errorf("%s, step %d: allowed %t, want %t: %s", check, s.Number, s.Allowed, allowed, s.Found)
			}
		}
		if !run.AsPublished() {
			t.Errorf("%s: not as published: %+v", check, run)
		}
		run.Check = map[Check]Check{PerCall: TokenOnly, TokenOnly: PerCall}[check]
		if run.AsPublished() {
			t.Errorf("the steps of %s pass for those of %s", check, run.Check)
		}
	}
}

func TestTokenOnlyStillRefusesToRenew(t *testing.T) {
	run, err := Access(t.Context(), TokenOnly, 1, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := run.Steps[8].Found, "200, refresh invalid_grant"; got != want {
		t.Errorf("step 9: got %q, want %q", got, want)
	}
}

func TestEachTimedCallIsCheckedOnceAndHalfAreAllowed(t *testing.T) {
	for _, calls := range []int{1, 2, 101} {
		run, err := Access(t.Context(), PerCall, calls, quiet)
		if err != nil {
			t.Fatal(err)
		}
		c := run.Cost
		if c.Calls != calls || c.Allowed != (calls+1)/2 || len(c.Checks) != calls || len(c.Loopback) != calls {
			t.Errorf("%d calls: got %d, %d allowed, %d checks, %d latencies", calls, c.Calls, c.Allowed, len(c.Checks), len(c.Loopback))
		}
		for i, check := range c.Checks {
			if check > c.Loopback[i] {
				t.Errorf("call %d took %v, its check alone %v", i, c.Loopback[i], check)
			}
		}
	}
}

func TestARuleThatGivesMoreIsFoundInTheNineSteps(t *testing.T) {
	change(t, "append_note_tab", func(r *tool) { r.scope = scopeRead })
	run, err := Access(t.Context(), PerCall, 1, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := run.Deviations(), []int{5}; !slices.Equal(got, want) || run.AsPublished() {
		t.Errorf("got deviations %v, as published %t; want %v and not", got, run.AsPublished(), want)
	}
}

// change breaks the rule of a tool until the test ends.
func change(t *testing.T, name string, f func(r *tool)) {
	t.Helper()
	before := maps.Clone(tools)
	r := tools[name]
	f(&r)
	tools[name] = r
	t.Cleanup(func() { tools = before })
}

func TestEveryRuleOfHandoffsHolds(t *testing.T) {
	report, err := Handoff(t.Context(), 200, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(report.Matrix), 7*4*4; got != want {
		t.Errorf("the matrix has %d cells, want %d", got, want)
	}
	for _, c := range report.Matrix {
		if !c.Held() {
			t.Errorf("%s with %s and %v: got %q, want %q", c.Tool, c.Seat, c.Scopes, c.Found, c.Expected)
		}
	}
	for _, c := range report.Cases {
		if !c.Held() {
			t.Errorf("%s: got %q and %d tasks, want %q and %d", c.What, c.Found, c.Tasks, c.Expected, c.ExpectedTasks)
		}
	}
	if r := report.Races; !r.Held() || r.Rounds != 200 || r.Accepts+r.Cancels != 200 {
		t.Errorf("the races came to %+v", r)
	}
	if !report.Held() {
		t.Error("the report says that something did not hold")
	}
}

func TestTheSeatMatrixFindsEachToolThatAsksForTooLittle(t *testing.T) {
	for _, r := range ruled {
		t.Run(r.tool+"/seat", func(t *testing.T) {
			change(t, r.tool, func(r *tool) { r.seat-- })
			expectBroken(t, r.tool)
		})
		t.Run(r.tool+"/scope", func(t *testing.T) {
			if r.scope == scopeRead {
				change(t, r.tool, func(r *tool) { r.scope = scopeWrite }) // there is no lesser one
			} else {
				change(t, r.tool, func(r *tool) { r.scope = scopeRead })
			}
			expectBroken(t, r.tool)
		})
	}
}

// expectBroken runs the rehearsal and wants the tool, and no other, to be found.
func expectBroken(t *testing.T, name string) {
	t.Helper()
	d, err := newDesk()
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	cells, err := d.matrix(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, c := range cells {
		if !c.Held() {
			found[c.Tool] = true
		}
	}
	if got, want := sortedKeys(found), []string{name}; !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

func TestRacesFindACancelThatComesTooLate(t *testing.T) {
	change(t, "cancel_session_handoff", func(r *tool) {
		r.run = func(m *model, _ caller, a arguments) (map[string]any, *refusal) {
			m.handoffs[a.HandoffID].state = cancelled
			return map[string]any{"status": cancelled}, nil
		}
	})
	report, err := Handoff(t.Context(), 100, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if report.Held() || report.Races.Held() || report.Races.Both == 0 {
		t.Errorf("a cancel that always wins goes unseen: %+v", report.Races)
	}
}

func TestRacesAreJudgedByWhatBothSidesWereTold(t *testing.T) {
	won := func(state string) outcome { return outcome{status: 200, result: result{Status: state, State: state}} }
	lost := func(status int, state string) outcome {
		return outcome{status: status, code: alreadyDecided, result: result{State: state}}
	}
	for name, c := range map[string]struct {
		cancel, accept outcome
		want           Races
	}{
		"cancel wins":            {won(cancelled), lost(409, cancelled), Races{Cancels: 1}},
		"accept wins":            {lost(200, accepted), won(accepted), Races{Accepts: 1}},
		"both":                   {won(cancelled), won(accepted), Races{Both: 1}},
		"neither":                {lost(200, accepted), lost(409, cancelled), Races{Neither: 1}},
		"told another state":     {won(cancelled), lost(409, accepted), Races{Cancels: 1, Misled: 1}},
		"told by another status": {lost(409, accepted), won(accepted), Races{Accepts: 1, Misled: 1}},
	} {
		var got Races
		if got.add(c.cancel, c.accept); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

func TestAKeyLeavesOneTaskPerCallWhateverIsLost(t *testing.T) {
	for _, l := range []Losses{
		{1000, 0.2, 7, 3}, {100, 0, 1, 3}, {100, 1, 1, 2}, {100, 0.5, 8, 0}, {200, 0.9, 3, 6}, {1, 0.2, 0, 3},
	} {
		kept, err := LostReplies(t.Context(), l, false, quiet)
		if err != nil {
			t.Fatal(err)
		}
		if kept.Tasks != l.Calls || kept.Duplicates != 0 || !kept.AsExpected() {
			t.Errorf("%+v: got %+v", l, kept)
		}
		ignored, err := LostReplies(t.Context(), l, true, quiet)
		if err != nil {
			t.Fatal(err)
		}
		if ignored.Duplicates != kept.Requeued || ignored.Tasks != l.Calls+kept.Requeued || !ignored.AsExpected() || ignored.Replayed != 0 {
			t.Errorf("%+v, key ignored: got %+v, want %d duplicates", l, ignored, kept.Requeued)
		}
		if lossy := l.Drop > 0 && l.Retries > 0 && l.Calls > 1; lossy && ignored.Duplicates == 0 || l.Drop == 0.2 && l.Calls == 1000 && kept.Replayed == 0 {
			t.Errorf("%+v: no retry came after its task: %+v and %+v", l, kept, ignored)
		}
	}
}

func TestTheSameSeedGivesTheSameNumbers(t *testing.T) {
	l := Losses{Calls: 300, Drop: 0.2, Seed: 7, Retries: 3}
	first, err := LostReplies(t.Context(), l, true, quiet)
	if err != nil {
		t.Fatal(err)
	}
	again, err := LostReplies(t.Context(), l, true, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if first != again {
		t.Errorf("got %+v, then %+v", first, again)
	}
	l.Seed = 8
	other, err := LostReplies(t.Context(), l, true, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if other == first {
		t.Errorf("another seed gives the same: %+v", other)
	}
}

func TestAServerThatIgnoresTheKeyIsNoServerThatKeepsIt(t *testing.T) {
	l := Losses{Calls: 100, Drop: 0.5, Seed: 7, Retries: 3}
	run, err := LostReplies(t.Context(), l, true, quiet)
	if err != nil {
		t.Fatal(err)
	}
	run.ExpectedTasks, run.ExpectedDuplicates = l.Calls, 0
	if run.AsExpected() {
		t.Errorf("duplicates pass for none: %+v", run)
	}
}
