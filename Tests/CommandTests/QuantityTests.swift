internal import FerryBase
internal import Testing

@testable internal import FerryCommand

@Suite("Quantity")
struct QuantityTests {
    @Test(
        "Counts are whole numbers whose digits may be grouped",
        arguments: [
            ("0", 0), ("12", 12), ("2_000_000", 2_000_000), ("-5", -5), ("", nil), ("_1", nil), ("1_", nil),
            ("1.5", nil),
            ("12x", nil), ("99999999999999999999", nil),
        ] as [(String, Int64?)])
    func readsCounts(_ text: String, _ number: Int64?) { #expect(Quantity.count(text) == number) }

    @Test(
        "Sizes have binary or decimal units",
        arguments: [
            ("64MiB", 64 << 20), ("100kB", 100_000), ("5MB", 5_000_000), ("1GiB", 1 << 30), ("512", 512), ("7B", 7),
            ("1.5KiB", 1_536), ("64mib", nil), ("MiB", nil), ("-1MiB", nil), ("9999999999GiB", nil), ("1 MiB", nil),
        ] as [(String, Int64?)])
    func readsSizes(_ text: String, _ bytes: Int64?) { #expect(Quantity.bytes(text) == bytes) }

    @Test(
        "Durations have a unit",
        arguments: [
            ("500ms", 500_000_000), ("15s", 15_000_000_000), ("2min", 120_000_000_000),
            ("2m", 120_000_000_000), ("1h", 3_600_000_000_000),
            ("0.5s", 500_000_000), ("1d", 86_400_000_000_000), ("15", nil), ("s", nil), ("1w", nil),
        ] as [(String, Int64?)])
    func readsDurations(_ text: String, _ nanoseconds: Int64?) { #expect(Quantity.nanoseconds(text) == nanoseconds) }

    @Test(
        "Counts are written in groups of three",
        arguments: [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567"), (-1_000, "-1,000")]
            as [(Int64, String)])
    func writesCounts(_ number: Int64, _ text: String) { #expect(number.grouped == text) }

    @Test(
        "Sizes are written in the largest binary unit that fits",
        arguments: [
            (0, "0 B"), (999, "999 B"), (1_023, "1.0 KiB"), (1_002 << 20, "1.0 GiB"), (1_536, "1.5 KiB"),
            (64 << 20, "64.0 MiB"), (3 << 30, "3.0 GiB"),
        ]
            as [(Int64, String)])
    func writesSizes(_ bytes: Int64, _ text: String) { #expect(bytes.bytesInUnits == text) }

    @Test(
        "Durations are written in readable units",
        arguments: [(0.0123, "12 ms"), (1.25, "1.3 s"), (119.94, "119.9 s"), (125, "2 min 5 s"), (7_260, "2 h 1 min")]
            as [(Double, String)])
    func writesDurations(_ seconds: Double, _ text: String) { #expect(Quantity.durationText(seconds: seconds) == text) }

    @Test(
        "Decimal places are fixed and rounded",
        arguments: [(1.05, "1.1"), (0, "0.0"), (-0.04, "0.0"), (-1.25, "-1.3"), (99.96, "100.0")] as [(Double, String)])
    func writesDecimals(_ value: Double, _ text: String) { #expect(Quantity.decimal(value, places: 1) == text) }
}
