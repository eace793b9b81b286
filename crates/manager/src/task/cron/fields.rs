//! The five fields of a schedule in cron form.

use std::iter;

use jiff::civil::Date;

/// The sets of minutes, hours, days and months.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fields {
    minutes: Set,
    hours: Set,
    days_of_month: Set,
    months: Set,
    days_of_week: Set,
}

/// Numbers below 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Set {
    members: u64,
    /// Whether it is `*`, which limits nothing.
    is_star: bool,
}

/// What a field may have.
struct Field {
    name: &'static str,
    least: u8,
    most: u8,
    /// Words for the numbers from the least one.
    words: &'static [&'static str],
}

impl Fields {
    /// Parses a schedule. The error names the place.
    pub(super) fn parse(expression: &str) -> Result<Self, String> {
        let five = match expression.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            word if word.starts_with("@every") => {
                return Err("`@every` is no time of the day: call `every` with a Duration".into());
            }
            word if word.starts_with('@') => return Err(format!("`{word}` is unknown: {WORDS}")),
            zoned if zoned.starts_with("TZ=") || zoned.starts_with("CRON_TZ=") => {
                return Err(
                    "the time zone is no part of the schedule: call `time_zone` with its name"
                        .into(),
                );
            }
            five => five,
        };
        let columns: Vec<&str> = five.split_whitespace().collect();
        let [minutes, hours, days_of_month, months, days_of_week] = columns.as_slice() else {
            let found = columns.len();
            return Err(format!(
                "it has {found} fields instead of five: minute, hour, day of the month, month, day of the week"
            ));
        };
        let fields = Self {
            minutes: MINUTE.parse(minutes)?,
            hours: HOUR.parse(hours)?,
            days_of_month: DAY_OF_MONTH.parse(days_of_month)?,
            months: MONTH.parse(months)?,
            days_of_week: DAY_OF_WEEK.parse(days_of_week)?,
        };
        if fields.never_comes() {
            return Err(format!(
                "no month `{months}` has a day `{days_of_month}`: it would never come"
            ));
        }
        Ok(fields)
    }

    /// Whether the calendar has no such day.
    fn never_comes(&self) -> bool {
        let has_day_of_month = iter::zip(1_u8.., LONGEST_MONTHS).any(|(month, longest)| {
            self.months.has(month) && (1..=longest).any(|day| self.days_of_month.has(day))
        });
        !has_day_of_month && self.both_days_have_to_match()
    }

    pub(super) fn has_minute(&self, minute: i8) -> bool {
        self.minutes.has_signed(minute)
    }

    pub(super) fn has_hour(&self, hour: i8) -> bool {
        self.hours.has_signed(hour)
    }

    pub(super) fn has_month(&self, date: Date) -> bool {
        self.months.has_signed(date.month())
    }

    pub(super) fn has_day(&self, date: Date) -> bool {
        let of_month = self.days_of_month.has_signed(date.day());
        let of_week = date.weekday().to_sunday_zero_offset();
        let of_week = self.days_of_week.has_signed(of_week);
        if self.both_days_have_to_match() {
            of_month && of_week
        } else {
            of_month || of_week
        }
    }

    fn both_days_have_to_match(&self) -> bool {
        self.days_of_month.is_star || self.days_of_week.is_star
    }
}

impl Set {
    fn has(self, number: u8) -> bool {
        self.members & (1 << number) != 0
    }

    fn has_signed(self, number: i8) -> bool {
        u8::try_from(number).is_ok_and(|number| self.has(number))
    }
}

impl Field {
    fn parse(&self, text: &str) -> Result<Set, String> {
        let mut set = Set {
            members: 0,
            is_star: false,
        };
        for part in text.split(',') {
            let why = |why| format!("the {} `{part}`: {why}", self.name);
            let (numbers, is_star) = self.part(part).map_err(why)?;
            set.is_star |= is_star;
            set.members |= numbers.fold(0, |members, number| members | 1 << number);
        }
        Ok(set)
    }

    /// The numbers of a part between commas, and whether it is all of them.
    fn part(&self, part: &str) -> Result<(impl Iterator<Item = u8> + use<>, bool), String> {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(parse_step(step)?)),
            None => (part, None),
        };
        let is_all = matches!(range, "*" | "?");
        let (first, last) = if is_all {
            (self.least, self.most)
        } else if let Some((first, last)) = range.split_once('-') {
            (self.number(first)?, self.number(last)?)
        } else {
            let first = self.number(range)?;
            // `5/15` is every 15 from 5 on.
            (first, if step.is_some() { self.most } else { first })
        };
        if first > last {
            return Err(format!("{first} is after {last}"));
        }
        let step = step.unwrap_or(1);
        let numbers = (first..=last).step_by(step);
        Ok((numbers, is_all && step == 1))
    }

    fn number(&self, text: &str) -> Result<u8, String> {
        let words = iter::zip(self.least.., self.words);
        let word = words
            .into_iter()
            .find(|(_, word)| word.eq_ignore_ascii_case(text));
        if let Some((number, _)) = word {
            return Ok(number);
        }
        let (least, most) = (self.least, self.most);
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(number) if is_number && (least..=most).contains(&number) => Ok(number),
            Ok(7) if self.words == DAYS => Err("7 is no day: Sunday is 0".into()),
            _ if is_number => Err(format!("{text} is not between {least} and {most}")),
            _ if self.words.is_empty() => Err(format!("`{text}` is no number")),
            _ => Err(format!(
                "`{text}` is neither a number nor one of {}",
                self.words.join(", ")
            )),
        }
    }
}

fn parse_step(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("a step is at least 1".into()),
        Ok(step) => Ok(step),
        Err(_) => Err(format!("`{text}` is no step: a number follows the `/`")),
    }
}

const DAYS: &[&str] = &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const MONTHS: &[&str] = &[
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
];
/// In a leap year.
const LONGEST_MONTHS: [u8; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const WORDS: &str = "there are @hourly, @daily, @weekly, @monthly and @yearly";

const MINUTE: Field = Field {
    name: "minute",
    least: 0,
    most: 59,
    words: &[],
};
const HOUR: Field = Field {
    name: "hour",
    least: 0,
    most: 23,
    words: &[],
};
const DAY_OF_MONTH: Field = Field {
    name: "day of the month",
    least: 1,
    most: 31,
    words: &[],
};
const MONTH: Field = Field {
    name: "month",
    least: 1,
    most: 12,
    words: MONTHS,
};
const DAY_OF_WEEK: Field = Field {
    name: "day of the week",
    least: 0,
    most: 6,
    words: DAYS,
};
