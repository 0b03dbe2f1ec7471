package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/osfoundry/osfoundry/internal/chart"
	"github.com/osfoundry/osfoundry/internal/rehearse"
	"github.com/osfoundry/osfoundry/internal/terminal"
)

// paragraph wraps a text of ours to the width of the terminal.
func paragraph(b *strings.Builder, format string, args ...any) {
	for _, line := range terminal.Wrap(fmt.Sprintf(format, args...), terminal.Columns) {
		b.WriteString(line + "\n")
	}
}

// accessText is the table of the nine steps, what it states, and the costs.
func accessText(runs []accessRun, style terminal.Style) string {
	var b strings.Builder
	b.WriteString(style.Paint(terminal.Bold, "The nine steps, the same host against a model server with each check") + "\n\n")
	head := terminal.Left("  STEP", 33) + terminal.Left("EXPECTED", 24)
	for _, r := range runs {
		head += terminal.Left(strings.ToUpper(string(r.AccessRun.Check)), 12)
	}
	b.WriteString(style.Paint(terminal.Dim, strings.TrimRight(head, " ")) + "\n")
	for i, step := range runs[0].Steps {
		expected := terminal.Wrap(step.Expected, 23)
		b.WriteString(strconv.Itoa(step.Number) + " " + terminal.Left(step.What, 31) + terminal.Left(expected[0], 24))
		for j, r := range runs {
			b.WriteString(stepCell(r.Steps[i], j == len(runs)-1, style))
		}
		b.WriteByte('\n')
		for _, more := range expected[1:] {
			b.WriteString(strings.Repeat(" ", 33) + more + "\n")
		}
	}
	b.WriteByte('\n')
	for _, r := range runs {
		accessStatement(&b, r)
	}
	b.WriteByte('\n')
	costTable(&b, runs, style)
	return b.String()
}

// stepCell says in 11 columns what a step came to: green as the rules say, red
// otherwise.
func stepCell(s rehearse.Step, last bool, style terminal.Style) string {
	status, _, _ := strings.Cut(strings.Replace(s.Found, ",", " ", 1), " ")
	word := status + " denied"
	if s.Allowed {
		word = status + " allowed"
	}
	if !last {
		word = terminal.Left(word, 12)
	}
	if s.AsRuled {
		return style.Paint(terminal.Green, word)
	}
	return style.Paint(terminal.Red, word)
}

// accessStatement states what the table shows of one check.
func accessStatement(b *strings.Builder, r accessRun) {
	check, against := r.AccessRun.Check, r.Deviations
	if len(against) == 0 {
		paragraph(b, "%s: all %d steps as the rules say.", check, len(r.Steps))
		return
	}
	paragraph(b, "%s: %d of %d steps as the rules say, not %s.", check, len(r.Steps)-len(against), len(r.Steps), numbers(against))
	for _, s := range r.Steps {
		if !s.AsRuled {
			paragraph(b, "Step %d: found %q, expected %q.", s.Number, s.Found, s.Expected)
		}
	}
	if check == rehearse.TokenOnly && r.AsPublished() {
		paragraph(b, "A token that was made before step 8 goes on for the rest of its hour, whatever the owner does: it allows steps 8 and 9, which per-call denies.")
	}
}

// numbers lists the steps, such as 8 and 9.
func numbers(list []int) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = strconv.Itoa(n)
	}
	if len(words) > 1 {
		words = append(words[:len(words)-2], words[len(words)-2]+" and "+words[len(words)-1])
	}
	return strings.Join(words, ", ")
}

// costTable shows the costs in figures.
func costTable(b *strings.Builder, runs []accessRun, style terminal.Style) {
	b.WriteString(style.Paint(terminal.Dim, terminal.Left("COST", 40)+terminal.Right("MEDIAN", 12)+terminal.Right("P99", 12)) + "\n")
	for _, series := range accessChart(runs).Series {
		b.WriteString(terminal.Left(series.Name, 40) + terminal.Right(chart.Duration(series.Quantile(0.5)), 12) + terminal.Right(chart.Duration(series.Quantile(0.99)), 12) + "\n")
	}
	c := runs[0].Cost
	paragraph(b, "%d calls each, %d of them allowed. The model's check reads memory; a database adds what its statement takes.", c.Calls, c.Allowed)
}

// handoffText is the seat matrix, the cases and the races.
func handoffText(r rehearse.HandoffReport, style terminal.Style) string {
	var b strings.Builder
	b.WriteString(style.Paint(terminal.Bold, "Seats, tools and scopes") + "\n")
	paragraph(&b, "seat: 200 with code seat_required. scope: 403 with insufficient_scope.")
	matrixText(&b, r.Matrix, style)
	b.WriteString("\n" + style.Paint(terminal.Bold, "What happens to a handoff, and the tasks it leaves") + "\n")
	b.WriteString(style.Paint(terminal.Dim, terminal.Left("CASE", 38)+terminal.Left("FOUND", 36)+terminal.Right("TASKS", 6)) + "\n")
	for _, c := range r.Cases {
		caseText(&b, c, style)
	}
	b.WriteString("\n" + style.Paint(terminal.Bold, "Races of cancel and accept") + "\n")
	racesText(&b, r.Races, style)
	return b.String()
}

// matrixText has a block for each set of scopes, a line for each tool, a column
// for each seat.
func matrixText(b *strings.Builder, cells []rehearse.Cell, style terminal.Style) {
	var seats, scopes, tools []string
	found := map[[3]string]rehearse.Cell{}
	for _, c := range cells {
		set := strings.ReplaceAll(strings.Join(c.Scopes, " "), "osfoundry:", "")
		seats, scopes, tools = appendNew(seats, c.Seat), appendNew(scopes, set), appendNew(tools, c.Tool)
		found[[3]string{set, c.Tool, c.Seat}] = c
	}
	for _, set := range scopes {
		head := terminal.Left("SCOPES "+strings.ToUpper(set), 32)
		for _, seat := range seats {
			head += terminal.Left(strings.ToUpper(seat), 12)
		}
		b.WriteString("\n" + style.Paint(terminal.Dim, strings.TrimRight(head, " ")) + "\n")
		for _, tool := range tools {
			b.WriteString(terminal.Left(tool, 32))
			for i, seat := range seats {
				b.WriteString(matrixCell(found[[3]string{set, tool, seat}], i == len(seats)-1, style))
			}
			b.WriteByte('\n')
		}
	}
	held := 0
	for _, c := range cells {
		if c.Held() {
			held++
			continue
		}
		paragraph(b, "%s, %s, %s: found %q, expected %q", c.Tool, c.Seat, strings.Join(c.Scopes, " "), c.Found, c.Expected)
	}
	fmt.Fprintf(b, "\n%d of %d as the rules say.\n", held, len(cells))
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

var matrixWords = map[string]string{"200": "allowed", "200 seat_required": "seat", "403 insufficient_scope": "scope"}

func matrixCell(c rehearse.Cell, last bool, style terminal.Style) string {
	word, ok := matrixWords[c.Found]
	if !ok {
		word = c.Found
	}
	colour := terminal.Green
	if !c.Held() {
		colour = terminal.Red
	}
	if last {
		return style.Paint(colour, terminal.Fit(word, 12))
	}
	return style.Paint(colour, terminal.Left(word, 12))
}

func caseText(b *strings.Builder, c rehearse.Case, style terminal.Style) {
	colour := terminal.Green
	if !c.Held() {
		colour = terminal.Red
	}
	lines := terminal.Wrap(c.Found, 35)
	b.WriteString(terminal.Left(c.What, 38) + style.Paint(colour, terminal.Left(lines[0], 36)) + terminal.Right(strconv.Itoa(c.Tasks), 6) + "\n")
	for _, more := range lines[1:] {
		b.WriteString(strings.Repeat(" ", 38) + style.Paint(colour, more) + "\n")
	}
	if !c.Held() {
		paragraph(b, "Expected: %q and %d.", c.Expected, c.ExpectedTasks)
	}
}

func racesText(b *strings.Builder, r rehearse.Races, style terminal.Style) {
	paragraph(b, "%d rounds: accept won %d, cancel won %d, both %d, neither %d. Losers told another state: %d. Tasks: %d.",
		r.Rounds, r.Accepts, r.Cancels, r.Both, r.Neither, r.Misled, r.Tasks)
	if r.Held() {
		b.WriteString(style.Paint(terminal.Green, "Exactly one won each round, and there are as many tasks as accepts.") + "\n")
		return
	}
	b.WriteString(style.Paint(terminal.Red, "Exactly one should win each round, and each accept leave one task.") + "\n")
}

// lossText is the table of what was lost and what is left.
func lossText(r lossReport, style terminal.Style) string {
	var b strings.Builder
	b.WriteString(style.Paint(terminal.Bold, fmt.Sprintf("%d run requests, answers lost: %g %%, seed %d, retries: up to %d",
		r.Calls, 100*r.Drop, r.Seed, r.Retries)) + "\n\n")
	b.WriteString(style.Paint(terminal.Dim, terminal.Left("", 44)+terminal.Right("WITH THE KEY", 16)+terminal.Right("KEY IGNORED", 16)) + "\n")
	for _, row := range []struct {
		what string
		of   func(run rehearse.LossRun) int
	}{
		{"requests sent", func(run rehearse.LossRun) int { return run.Attempts }},
		{"  lost before they took effect", func(run rehearse.LossRun) int { return run.LostBefore }},
		{"  answer lost after they took effect", func(run rehearse.LossRun) int { return run.LostAfter }},
		{"retries after the call had queued", func(run rehearse.LossRun) int { return run.Requeued }},
		{"first results given again", func(run rehearse.LossRun) int { return run.Replayed }},
		{"calls without any answer", func(run rehearse.LossRun) int { return run.Unanswered }},
		{"tasks expected", func(run rehearse.LossRun) int { return run.ExpectedTasks }},
		{"tasks found", func(run rehearse.LossRun) int { return run.Tasks }},
		{"duplicates expected", func(run rehearse.LossRun) int { return run.ExpectedDuplicates }},
		{"duplicates found", func(run rehearse.LossRun) int { return run.Duplicates }},
	} {
		b.WriteString(terminal.Left(row.what, 44))
		for _, run := range r.Runs {
			b.WriteString(terminal.Right(strconv.Itoa(row.of(run)), 16))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	if r.AsPublished {
		b.WriteString(style.Paint(terminal.Green, "One task for each call with the key; without it, one more for each such retry.") + "\n")
		return b.String()
	}
	b.WriteString(style.Paint(terminal.Red, "The tasks found are not those expected.") + "\n")
	return b.String()
}
