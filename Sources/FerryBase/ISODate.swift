/// Reads ISO 8601: `2016-05-17`, `2016-05-17T19:01:02Z`, with a fraction, and with `+02:00` or `+0200` for Z.
package enum ISODate {
    /// The seconds since 2001-01-01 UTC; nil for another form.
    package static func seconds(_ text: String) -> Double? {
        var rest = Array(text.utf8)[...]
        guard let year = digits(4, &rest), take("-", &rest), let month = digits(2, &rest), take("-", &rest),
            let day = digits(2, &rest), (1...12).contains(month), day >= 1, day <= days(in: month, of: year)
        else { return nil }
        var seconds = daysSince2001(year, month, day) * 86_400
        if rest.isEmpty { return Double(seconds) }
        guard take("T", &rest) || take(" ", &rest), let hour = digits(2, &rest), take(":", &rest),
            let minute = digits(2, &rest), hour < 24, minute < 60
        else { return nil }
        seconds += hour * 3600 + minute * 60
        var fraction = 0.0
        if take(":", &rest) {
            guard let second = digits(2, &rest), second < 60 else { return nil }
            seconds += second
            if take(".", &rest) || take(",", &rest) {
                let part = rest.prefix { (0x30...0x39).contains($0) }
                guard !part.isEmpty, part.count <= 18, let value = Double("0." + String(decoding: part, as: UTF8.self))
                else { return nil }
                fraction = value
                rest = rest.dropFirst(part.count)
            }
        }
        guard let offset = offset(&rest), rest.isEmpty else { return nil }
        return Double(seconds - offset) + fraction
    }

    /// Reads seconds east of Greenwich: nothing, `Z`, `+02`, `+0200` or `+02:00`.
    private static func offset(_ rest: inout ArraySlice<UInt8>) -> Int? {
        if rest.isEmpty || take("Z", &rest) { return 0 }
        let sign = take("+", &rest) ? 1 : take("-", &rest) ? -1 : 0
        guard sign != 0, let hours = digits(2, &rest), hours < 24 else { return nil }
        if rest.isEmpty { return sign * hours * 3600 }
        _ = take(":", &rest)
        guard let minutes = digits(2, &rest), minutes < 60 else { return nil }
        return sign * (hours * 3600 + minutes * 60)
    }

    private static func take(_ character: Unicode.Scalar, _ rest: inout ArraySlice<UInt8>) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    private static func digits(_ count: Int, _ rest: inout ArraySlice<UInt8>) -> Int? {
        let part = rest.prefix(count)
        guard part.count == count, part.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        rest = rest.dropFirst(count)
        return part.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && year % 100 != 0 || year % 400 == 0 }

    private static func days(in month: Int, of year: Int) -> Int {
        month == 2 ? (isLeap(year) ? 29 : 28) : ([4, 6, 9, 11].contains(month) ? 30 : 31)
    }

    private static func daysSince2001(_ year: Int, _ month: Int, _ day: Int) -> Int {
        // Years are shifted by whole cycles of the calendar, so that none is negative.
        func leapDays(before year: Int) -> Int { (year + 399) / 4 - (year + 399) / 100 + (year + 399) / 400 }
        var days = (year - 2001) * 365 + leapDays(before: year) - leapDays(before: 2001)
        for earlier in 1..<month { days += self.days(in: earlier, of: year) }
        return days + day - 1
    }
}
