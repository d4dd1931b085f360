/// The width of a text before a browser has chosen its font: that of a wide one, so that the text fits with any.
enum TextMetrics {
    static func width(_ text: String, size: Double, isBold: Bool = false) -> Double {
        text.unicodeScalars.map(share).reduce(0, +) * (isBold ? 1.1 : 1) * size
    }

    /// A scalar's width as a share of the font size; those of Latin letters are of Verdana, the widest common font, and
    /// of fonts in which all letters have the same width.
    private static func share(_ scalar: Unicode.Scalar) -> Double {
        switch scalar {
        case "m", "M", "w", "W", "@", "%", "…", "→": 1.08
        case "a"..."z", "0"..."9", "_", "*", " ", ".", ",", ":", "/", "-", "(", ")": 0.64
        // Marks that combine with the letter before take no room, but are rare; ideographs take a whole square.
        default: scalar.value >= 0x1F000 ? 1.4 : scalar.value >= 0x1100 ? 1.05 : 0.82
        }
    }

    /// A text cut in its middle until it fits into a room.
    static func fitted(_ text: String, into room: Double, size: Double, isBold: Bool = false) -> String {
        guard width(text, size: size, isBold: isBold) > room else { return text }
        var (low, high) = (2, text.count)
        // The longest cut that fits; at least a letter at each end.
        while low < high {
            let middle = (low + high + 1) / 2
            if width(Drawing.shortened(text, to: middle), size: size, isBold: isBold) <= room {
                low = middle
            } else {
                high = middle - 1
            }
        }
        return Drawing.shortened(text, to: max(3, low))
    }
}
