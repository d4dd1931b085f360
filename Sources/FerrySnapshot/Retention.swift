/// The snapshots that pruning keeps.
package struct Retention: Sendable {
    /// The number of newest whole snapshots that stay whatever their age.
    package var newest: Int
    /// The least age, in seconds, of a removed snapshot.
    package var minimumAge: Int64
    /// The number of last days with snapshots of which the newest one stays; days are those of UTC.
    package var daily: Int
    /// The number of last weeks with snapshots of which the newest one stays; they begin on Monday.
    package var weekly: Int

    private static let secondsPerDay: Int64 = 86_400
    /// The first day of the first whole week: 1970 began on a Thursday.
    private static let firstMonday: Int64 = 4

    /// The number of whole snapshots so far.
    private var count = 0
    /// The days and weeks that have their snapshot.
    private var days: Set<Int64> = []
    private var weeks: Set<Int64> = []

    package init(newest: Int, minimumAge: Int64, daily: Int = 0, weekly: Int = 0) {
        (self.newest, self.minimumAge, self.daily, self.weekly) = (newest, max(0, minimumAge), daily, weekly)
    }

    /// Whether the next of the whole snapshots, the newest first, is among the newest, or the newest of a day or week.
    mutating func takes(createdAt seconds: Int64) -> Bool {
        count += 1
        let day = Self.quotient(seconds, Self.secondsPerDay)
        let week = Self.quotient(day - Self.firstMonday, 7)
        let isOfDay = days.count < daily && days.insert(day).inserted
        let isOfWeek = weeks.count < weekly && weeks.insert(week).inserted
        return count <= newest || isOfDay || isOfWeek
    }

    /// Rounded down, also before 1970.
    private static func quotient(_ number: Int64, _ divisor: Int64) -> Int64 {
        number / divisor - (number % divisor < 0 ? 1 : 0)
    }
}
