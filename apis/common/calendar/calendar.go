// Package calendar computes when runs are due, and when they may begin.
package calendar

import (
	"strings"
	"time"
	_ "time/tzdata" // Container images have no time zone database.

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// parser of the syntax of CronJobs.
var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// A Calendar of an AnsibleRun. The zero value has no schedule, and is always open.
type Calendar struct {
	schedule, window times
	duration         time.Duration
	// changes is true if changes wait for the window.
	changes bool
}

// New returns the calendar of a schedule and a window; each may be nil.
func New(schedule *common.Times, window *common.Window) (Calendar, field.ErrorList) {
	var (
		c    Calendar
		errs field.ErrorList
	)

	if schedule != nil {
		c.schedule, errs = parse(field.NewPath("schedule"), *schedule)
	}

	if window != nil {
		var werrs field.ErrorList

		c.window, werrs = parse(field.NewPath("window"), window.Times)
		errs = append(errs, werrs...)
		c.duration, c.changes = window.Duration.Duration, window.Changes != common.ChangesImmediate
	}

	return c, errs
}

// Scheduled is true if the AnsibleRun has a schedule for its periodic runs.
func (c Calendar) Scheduled() bool { return c.schedule.cron != nil }

// Due returns the first time after the given one at which the schedule has a periodic run.
func (c Calendar) Due(after time.Time) time.Time { return c.schedule.next(after) }

// Opens returns when the window opens next, at or after now. It returns the zero time if the window is open, if there
// is none, or if the run does not wait for it: a run that is not periodic may not have to.
func (c Calendar) Opens(now time.Time, periodic bool) time.Time {
	opens := c.first(now, periodic)
	if !opens.After(now) {
		return time.Time{}
	}

	return opens
}

// Closes returns when the open window closes. It returns the zero time if no window is open, or if the run does not
// wait for one.
func (c Calendar) Closes(now time.Time, periodic bool) time.Time {
	opens := c.first(now, periodic)
	if opens.IsZero() || opens.After(now) {
		return time.Time{}
	}

	return opens.Add(c.duration)
}

// first returns the beginning of the window that is open, or else of the one that opens next. It returns the zero time
// if the run does not wait for a window.
func (c Calendar) first(now time.Time, periodic bool) time.Time {
	if c.window.cron == nil || !periodic && !c.changes {
		return time.Time{}
	}

	// A window that began up to one duration ago is still open.
	return c.window.next(now.Add(-c.duration))
}

// times are the points in time of a schedule in a time zone.
type times struct {
	cron cron.Schedule
	zone *time.Location
}

// next returns the first point after a time. A point in an hour that is missing, because the clocks are put forward, is
// the moment of the change. An hour that comes twice, because they are put back, counts once.
func (t times) next(after time.Time) time.Time {
	if t.hourly() {
		return t.cron.Next(after.In(t.zone))
	}

	for shows := clock(after.In(t.zone)); ; {
		if shows = t.cron.Next(shows); shows.IsZero() {
			return shows
		}

		if at := first(shows, t.zone); at.After(after) {
			return at
		}
	}
}

// anyHour is the bit that the library sets for "*" in the hours of a schedule.
const anyHour = 1 << 63

// hourly is true for a schedule without given hours, which has the same intervals across changes of the clocks.
func (t times) hourly() bool {
	s, ok := t.cron.(*cron.SpecSchedule)

	return ok && s.Hour&anyHour != 0
}

// clock returns the date and the time that a clock shows, as a time in UTC, which has no changes of the clocks.
func clock(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// first returns the first time at which the clocks of a zone show at least the given date and time.
func first(shows time.Time, zone *time.Location) time.Time {
	t := time.Date(shows.Year(), shows.Month(), shows.Day(), shows.Hour(), shows.Minute(), shows.Second(),
		shows.Nanosecond(), zone)
	start, end := t.ZoneBounds()

	switch c := clock(t); {
	case c.Before(shows):
		return end
	case c.After(shows):
		return start
	case start.IsZero():
		return t
	}

	// The clocks may also have shown it before they were put back.
	_, offset := start.Add(-time.Second).Zone()
	if once := shows.Add(-time.Duration(offset) * time.Second).In(zone); once.Before(start) {
		return once
	}

	return t
}

func parse(path *field.Path, of common.Times) (times, field.ErrorList) {
	var (
		t    times
		errs field.ErrorList
		err  error
	)

	if t.zone, err = time.LoadLocation(of.TimeZone); err != nil || of.TimeZone == "Local" {
		errs = append(errs,
			field.Invalid(path.Child("timeZone"), of.TimeZone,
				"must be a name of the time zone database, such as Europe/Berlin"))
		t.zone = time.UTC
	}

	const syntax = `must have minute, hour, day of the month, month and day of the week, ` +
		`such as "30 3 * * 1-5", or be @hourly, @daily, @weekly, @monthly or @yearly`

	switch {
	case strings.Contains(of.Cron, "TZ"):
		return t, append(errs,
			field.Invalid(path.Child("cron"), of.Cron, "must have no time zone: that is the field timeZone"))
	case strings.HasPrefix(of.Cron, "@every"):
		return t, append(errs,
			field.Invalid(path.Child("cron"), of.Cron,
				"must name points in time: the poll interval sets a time between runs"))
	}

	if t.cron, err = parser.Parse(of.Cron); err != nil {
		return times{}, append(errs, field.Invalid(path.Child("cron"), of.Cron, syntax+": "+err.Error()))
	}

	// The library looks five years ahead.
	if t.next(time.Unix(0, 0)).IsZero() {
		errs = append(errs,
			field.Invalid(path.Child("cron"), of.Cron, "must be a point in time that comes, and not the 30th of February"))
	}

	return t, errs
}
