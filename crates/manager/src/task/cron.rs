//! Schedules in cron form, as a CronJob has them, and the times that they name.

mod fields;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::fmt::{self, Display};
use std::str::FromStr;
use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};

use self::fields::Fields;

/// A schedule in cron form, which names the same times as the `schedule` of a CronJob:
///
/// * five fields, for the minute, the hour, the day of the month, the month and the day of the week (0 to 6, 0 is Sunday), each with
///   `*`, numbers, ranges, steps, lists of those, and the English short names of months and days;
/// * or `@hourly`, `@daily` (`@midnight`), `@weekly`, `@monthly`, `@yearly` (`@annually`);
/// * if both days are limited, one of them is enough: `0 0 13 * FRI` is every 13th and every Friday.
///
/// Without a [time zone](Self::in_time_zone) the times are in UTC. In one whose clocks are changed, a time that is left out on that day
/// is no time of the schedule, and one that comes twice is two.
///
/// ```
/// use jiff::Timestamp;
/// use kubewright_manager::Cron;
///
/// let nightly: Cron = "30 2 * * *".parse()?;
/// let new_year: Timestamp = "2026-01-01T00:00:00Z".parse()?;
/// assert_eq!(nightly.next_after(new_year), Some("2026-01-01T02:30:00Z".parse()?));
///
/// let error = "30 25 * * *".parse::<Cron>().unwrap_err();
/// assert_eq!(error.to_string(), "invalid schedule `30 25 * * *`: the hour `25`: 25 is not between 0 and 23");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It can be an option of a program: clap parses it, and names a mistake on the command line.
///
/// ```
/// use kubewright_manager::Cron;
///
/// #[derive(clap::Args)]
/// struct Options {
///     /// When to write the report
///     #[arg(long, default_value = "0 6 * * MON-FRI")]
///     schedule: Cron,
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Cron {
    expression: Arc<str>,
    fields: Fields,
    zone: TimeZone,
}

/// A schedule in cron form is wrong, or its time zone is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct CronError(Reason);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Reason {
    Schedule { expression: String, why: String },
    Zone { name: String },
}

impl Cron {
    /// Sets the time zone, by its name in the IANA database such as `Europe/Berlin`. Default: UTC.
    ///
    /// ```
    /// use jiff::Timestamp;
    /// use kubewright_manager::Cron;
    ///
    /// let nightly = "30 2 * * *".parse::<Cron>()?.in_time_zone("America/New_York")?;
    /// let noon: Timestamp = "2026-03-07T12:00:00Z".parse()?;
    /// // There is no half past two on the 8th of March 2026: the clocks go from two to three.
    /// assert_eq!(nightly.next_after(noon), Some("2026-03-09T06:30:00Z".parse()?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the database has no time zone of this name, or the machine has no database. Images without the package `tzdata` have none.
    pub fn in_time_zone(mut self, name: &str) -> Result<Self, CronError> {
        let zone = TimeZone::get(name).map_err(|_| Reason::Zone {
            name: name.to_owned(),
        });
        self.zone = zone.map_err(CronError)?;
        Ok(self)
    }

    /// Returns the first time of the schedule after another time. Every schedule that is parsed has one, up to the year 9999.
    ///
    /// ```
    /// use kubewright_manager::Cron;
    ///
    /// let leap_days: Cron = "0 12 29 2 *".parse()?;
    /// let next = leap_days.next_after("2026-01-01T00:00:00Z".parse()?);
    /// assert_eq!(next, Some("2028-02-29T12:00:00Z".parse()?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn next_after(&self, time: Timestamp) -> Option<Timestamp> {
        let whole = Timestamp::from_second(time.as_second()).ok()?;
        let mut time = whole.checked_add(1.second()).ok()?;
        // Where the calendar says no, the rest of the month, day, hour or minute is skipped at once.
        loop {
            let there = time.to_zoned(self.zone.clone());
            let (minute, second) = (i64::from(there.minute()), i64::from(there.second()));
            let date = there.date();
            time = if !self.fields.has_month(date) {
                let next = date.first_of_month().checked_add(1.month()).ok()?;
                next.to_zoned(self.zone.clone()).ok()?.timestamp()
            } else if !self.fields.has_day(date) {
                let next = date.tomorrow().ok()?;
                next.to_zoned(self.zone.clone()).ok()?.timestamp()
            } else if !self.fields.has_hour(there.hour()) {
                let left = 3600 - minute * 60 - second;
                time.checked_add(SignedDuration::from_secs(left)).ok()?
            } else if !self.fields.has_minute(there.minute()) || second > 0 {
                let left = SignedDuration::from_secs(60 - second);
                time.checked_add(left).ok()?
            } else {
                return Some(time);
            };
        }
    }
}

impl FromStr for Cron {
    type Err = CronError;

    fn from_str(expression: &str) -> Result<Self, CronError> {
        let fields = Fields::parse(expression).map_err(|why| {
            CronError(Reason::Schedule {
                expression: expression.to_owned(),
                why,
            })
        })?;
        Ok(Self {
            expression: expression.into(),
            fields,
            zone: TimeZone::UTC,
        })
    }
}

impl TryFrom<&str> for Cron {
    type Error = CronError;

    fn try_from(expression: &str) -> Result<Self, CronError> {
        expression.parse()
    }
}

impl TryFrom<String> for Cron {
    type Error = CronError;

    fn try_from(expression: String) -> Result<Self, CronError> {
        expression.parse()
    }
}

impl From<Infallible> for CronError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl Display for Cron {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.expression)
    }
}

impl Display for CronError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::Schedule { expression, why } => {
                write!(formatter, "invalid schedule `{expression}`: {why}")
            }
            Reason::Zone { name } => write!(
                formatter,
                "unknown time zone `{name}`: no file of this name in the time zone database of this machine, which an image has \
                 from the package tzdata"
            ),
        }
    }
}
