//! What requests to an object store cost.
//!
//! Plain arithmetic in nano-dollars (10^-9 USD): prices are known here and nowhere else. Policies see those of a PUT and of a GET with `init`,
//! simulations and comparisons count requests and ask what they come to. Storage itself is left out: it costs the same whatever a policy
//! decides.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A month for estimates: 30 days.
pub const MONTH: Duration = Duration::from_secs(30 * 24 * 3_600);

/// What a store charges, in nano-dollars. Deletes are free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// One PUT.
    pub put_nano: u64,
    /// One GET, or HEAD.
    pub get_nano: u64,
    /// One page of a listing.
    pub list_nano: u64,
    /// One GiB that is uploaded.
    pub upload_nano_per_gib: u64,
    /// One GiB that is downloaded.
    pub download_nano_per_gib: u64,
}

impl Prices {
    /// S3 Standard in us-east-1 (aws.amazon.com/s3/pricing, 2026): 0.005 USD for 1,000 PUT or LIST, 0.0004 USD for 1,000 GET; bytes to and
    /// from machines of the same region are free.
    pub const S3_STANDARD: Self =
        Self { put_nano: 5_000, get_nano: 400, list_nano: 5_000, upload_nano_per_gib: 0, download_nano_per_gib: 0 };

    /// S3 Express One Zone in us-east-1 (aws.amazon.com/s3/faqs, 2026): 0.00113 USD for 1,000 PUT, 0.00003 USD for 1,000 GET, 0.0032 USD
    /// for each GB uploaded and 0.0006 USD for each GB retrieved. A LIST is taken for a PUT, as it is with S3 Standard.
    pub const S3_EXPRESS: Self =
        Self { put_nano: 1_130, get_nano: 30, list_nano: 1_130, upload_nano_per_gib: 3_200_000, download_nano_per_gib: 600_000 };

    /// What these requests cost, in nano-dollars; saturates.
    pub fn of(&self, usage: &Usage) -> u64 {
        let times = |count: u64, nano: u64| u128::from(count) * u128::from(nano);
        let requests =
            times(usage.puts, self.put_nano) + times(usage.gets + usage.heads, self.get_nano) + times(usage.lists, self.list_nano);
        let bytes = times(usage.bytes_up, self.upload_nano_per_gib) + times(usage.bytes_down, self.download_nano_per_gib);
        u64::try_from(requests + (bytes >> 30)).unwrap_or(u64::MAX)
    }
}

impl Default for Prices {
    /// Those of S3 Standard.
    fn default() -> Self {
        Self::S3_STANDARD
    }
}

/// Requests to a store, tries that failed included: they are charged too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// PUTs.
    pub puts: u64,
    /// GETs.
    pub gets: u64,
    /// HEADs.
    pub heads: u64,
    /// Pages of listings.
    pub lists: u64,
    /// Deletes; of many keys at once, one.
    pub deletes: u64,
    /// Bytes of bodies sent.
    pub bytes_up: u64,
    /// Bytes of bodies received.
    pub bytes_down: u64,
}

impl Usage {
    /// What came on top of `earlier`; 0 where that was more.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            puts: self.puts.saturating_sub(earlier.puts),
            gets: self.gets.saturating_sub(earlier.gets),
            heads: self.heads.saturating_sub(earlier.heads),
            lists: self.lists.saturating_sub(earlier.lists),
            deletes: self.deletes.saturating_sub(earlier.deletes),
            bytes_up: self.bytes_up.saturating_sub(earlier.bytes_up),
            bytes_down: self.bytes_down.saturating_sub(earlier.bytes_down),
        }
    }
}

/// What a month costs at the pace of `nano` in `span`; 0 for an empty span.
pub fn monthly_nano(nano: u64, span: Duration) -> u64 {
    let month = u128::from(nano) * MONTH.as_nanos();
    u64::try_from(month.checked_div(span.as_nanos()).unwrap_or(0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const USD: u64 = 1_000_000_000;

    /// Example 1 of the S3 FAQ: 1,000,000 writes and 9,000,000 reads of 10 KB cost 1.13 + 0.27 + 0.03 + 0.05 USD.
    #[test]
    fn a_bill_of_s3_express_is_what_amazon_says() {
        let kib = 10 << 10;
        let usage = Usage {
            puts: 1_000_000,
            gets: 9_000_000,
            deletes: 1_000_000,
            bytes_up: 1_000_000 * kib,
            bytes_down: 9_000_000 * kib,
            ..Usage::default()
        };
        let cents = Prices::S3_EXPRESS.of(&usage) / (USD / 100);
        assert_eq!(cents, 113 + 27 + 3 + 5);
    }

    #[test]
    fn a_month_goes_on_at_the_same_pace() {
        let usage = Usage { puts: 1_000, ..Usage::default() };
        let nano = Prices::default().of(&usage);
        assert_eq!(nano, USD / 200);
        assert_eq!(monthly_nano(nano, Duration::from_secs(24 * 3_600)), 30 * USD / 200);
        assert_eq!(monthly_nano(nano, Duration::ZERO), 0);
    }

    #[test]
    fn the_largest_bill_does_not_overflow() {
        let most = u64::MAX / 2;
        let usage = Usage { puts: most, gets: most, heads: most, lists: most, deletes: most, bytes_up: most, bytes_down: most };
        assert_eq!(Prices::S3_EXPRESS.of(&usage), u64::MAX);
        assert_eq!(usage.since(&usage), Usage::default());
    }
}
