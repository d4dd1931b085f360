/// Plausible names from numbers: the same number always gives the same name.
enum LibraryNames {
    private static let given = [
        "Ada", "Amos", "Anna", "Boris", "Clara", "Daniel", "Edith", "Elias", "Emil", "Franz", "Greta", "Hannah", "Hugo",
        "Ida", "Irene", "Jakob", "Karin", "Leo", "Lina", "Ludwig", "Maria", "Nora", "Oskar", "Paula", "Robert", "Rosa",
        "Selma", "Stefan", "Thomas", "Vera", "Viktor", "Walter",
    ]
    private static let family = [
        "Abel", "Bachmann", "Berger", "Brandt", "Castell", "Dahl", "Ebner", "Falk", "Frisch", "Gruber", "Hahn", "Hesse",
        "Holm", "Jansen", "Kafka", "Keller", "Lang", "Lenz", "Lindgren", "Mann", "Moser", "Novak", "Olsen", "Pichler",
        "Roth", "Sachs", "Seghers", "Stifter", "Tucholsky", "Undset", "Vogel", "Weiss", "Winter", "Wolf", "Zeller",
        "Zweig",
    ]
    private static let qualities = [
        "Brief", "Complete", "Distant", "Forgotten", "Golden", "Hidden", "Last", "Lost", "Northern", "Quiet", "Second",
        "Silver", "Small", "Unwritten", "Winter", "Young",
    ]
    private static let things = [
        "Archive", "Bridge", "Castle", "Clock", "Ferry", "Garden", "Harbour", "Island", "Journey", "Letter", "Library",
        "Map", "Mirror", "Orchard", "River", "Road", "Ship", "Station", "Summer", "Tower",
    ]

    /// Different for different numbers.
    static func person(_ number: Int) -> String {
        let name = "\(given[number % given.count]) \(family[number / given.count % family.count])"
        let rest = number / (given.count * family.count)
        return rest == 0 ? name : "\(name) \(rest + 1)"
    }

    static func title(_ number: Int) -> String {
        let quality = qualities[number % qualities.count]
        return "The \(quality) \(things[number / qualities.count % things.count]), volume \(number + 1)"
    }
}
