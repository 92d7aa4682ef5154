//! Quantities of bytes as Kubernetes spells them, to be compared
//! (<https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/>).
//!
//! The crates that read them are tied to other releases of `k8s-openapi` than ours.

/// Bytes of a quantity such as `10Gi`, `1.5G`, `500M` or `1e9`, rounded down; none when it is not one.
#[must_use]
pub fn bytes(text: &str) -> Option<u128> {
    let unit_at = text.find(|letter: char| letter.is_ascii_alphabetic());
    let (number, unit) = text.split_at(unit_at.unwrap_or(text.len()));
    let factor = match unit {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_u128.pow(2),
        "G" => 1_000_u128.pow(3),
        "T" => 1_000_u128.pow(4),
        "P" => 1_000_u128.pow(5),
        "E" => 1_000_u128.pow(6),
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        "Pi" => 1 << 50,
        "Ei" => 1 << 60,
        exponent => {
            let power = exponent.strip_prefix(['e', 'E'])?.parse().ok()?;
            10_u128.checked_pow(power)?
        }
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    // No volume is measured finer.
    let fraction = fraction.get(..9).unwrap_or(fraction);
    let scale = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let digits: u128 = [whole, fraction].concat().parse().ok()?;
    Some(digits.checked_mul(factor)? / scale)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn the_spellings_of_kubernetes_are_read() {
        assert_eq!(bytes("1Gi"), Some(1 << 30));
        assert_eq!(bytes("1024Mi"), bytes("1Gi"));
        assert_eq!(bytes("1.5Ki"), Some(1_536));
        assert_eq!(bytes("1e9"), bytes("1G"));
        assert_eq!(bytes("128974848"), Some(128_974_848));
        assert_eq!(bytes("2E"), Some(2_000_000_000_000_000_000));
        for nonsense in ["", "Gi", "1Q", "-1", "1.2.3", "one"] {
            assert_eq!(bytes(nonsense), None, "{nonsense}");
        }
    }
}
